"""The names beside bars and boxes: whole where they have room, and never over another text."""

from __future__ import annotations

import io
from collections.abc import Callable
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.axes import Axes

import finstat_kit as fk
from finstat_kit.arguments import Grouping, Lang
from tests.support.examples import slow
from tests.support.pictures import axes, bars, check_legible
from tests.support.units import SAMPLE, UNITS

LANGS: list[Lang] = ["sk", "en"]


@pytest.mark.parametrize("size", [None, (8, 7.5), *slow(((6, 7),), ((9, 12),))])
@pytest.mark.parametrize("lang", LANGS)
def test_long_names_have_two_lines(lang: Lang, size: tuple[float, float] | None) -> None:
    """Where there is room; a figure of the chart's own is as tall as they need."""
    money = SAMPLE.financials(UNITS.head(900), 2016)
    drawings: list[Callable[[Axes | None], Axes]] = [
        lambda ax: fk.plot_counts(UNITS, "section", lang=lang, ax=ax),
        lambda ax: fk.plot_spread(money, "sales", by="section", lang=lang, ax=ax),
    ]
    for draw in drawings:
        ax = draw(None if size is None else axes(*size))

        check_legible(ax)
        plt.close(ax.figure)  # type: ignore[arg-type]
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert any("\n" in name for name in names)
        assert not any("…" in name for name in names)


@pytest.mark.parametrize("size", [(4, 3), (3.5, 2.5), (5, 4), *slow(((6, 2),), ((12, 2.5),))])
@pytest.mark.parametrize("lang", LANGS)
def test_bars_in_small_axes_are_legible(lang: Lang, size: tuple[float, float]) -> None:
    """Under a title of several lines; names that have no room are cut."""
    fields: list[Grouping] = ["kraj", "section"]
    for by in fields:
        ax = fk.plot_counts(UNITS, by, lang=lang, ax=axes(*size))

        check_legible(ax)
        assert sum(bars(ax).values()) == UNITS.height


# A colour of a terminal, a letter that XML does not have, marks that turn or hide text.
HOSTILE = "Ruža\x1b[31m\x00\x0b\u202e\u2066\u200b\x85 s. r. o."


def test_a_picture_holds_no_character_that_is_not_drawn() -> None:
    """The svg of a chart is XML, and no name of a filer turns a text around."""
    money = SAMPLE.financials([365], [2014, 2015]).with_columns(name=pl.lit(HOSTILE))
    counts = fk.count_by(UNITS.filter(kraj="SK010")).with_columns(label=pl.lit(HOSTILE))
    spread = SAMPLE.financials(UNITS.head(200), 2016)
    drawings: list[Callable[[], Axes]] = [
        lambda: fk.plot_history(money, "sales", register=SAMPLE),
        lambda: fk.plot_history(money, ["sales", "equity"], note=HOSTILE, register=SAMPLE),
        lambda: fk.plot_counts(counts, register=SAMPLE),
        lambda: fk.plot_map(counts, title=HOSTILE, register=SAMPLE),
        lambda: fk.plot_spread(spread, "sales", note=HOSTILE, register=SAMPLE),
        lambda: fk.plot_last_changes(UNITS, title=HOSTILE, register=SAMPLE),
    ]
    for draw in drawings:
        ax = draw()
        file = io.BytesIO()
        with plt.rc_context({"svg.fonttype": "none"}):
            plt.gcf().savefig(file, format="svg")
        plt.close(ax.figure)  # type: ignore[arg-type]

        texts = "".join(ElementTree.fromstring(file.getvalue()).itertext())
        assert "Ruža" in texts
        assert not {letter for letter in texts if not letter.isprintable()} - {"\n", "\u00a0"}
