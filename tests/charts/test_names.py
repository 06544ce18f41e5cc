"""The names beside bars and boxes: whole where they have room, and never over another text."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.axes import Axes

import finstat_kit as fk
from finstat_kit.arguments import Grouping, Lang
from tests.support.charts import EVERY, figures
from tests.support.examples import slow
from tests.support.pictures import axes, bars, check_legible
from tests.support.units import SAMPLE, all_units


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "size"),
    [("sk", None), *slow(("en", (8, 7.5)))],
)
def test_long_names_have_two_lines(lang: Lang, size: tuple[float, float] | None) -> None:
    """Where there is room; a figure of the chart's own is as tall as they need."""
    drawings: list[Callable[[Axes | None], Axes]] = [
        lambda ax: fk.plot_counts(all_units(), by="section", lang=lang, ax=ax),
        lambda ax: fk.plot_spread(figures(150), value="sales", by="section", lang=lang, ax=ax),
    ]
    for draw in drawings:
        ax = draw(None if size is None else axes(*size))

        check_legible(ax)
        plt.close(ax.figure)  # type: ignore[arg-type]
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert any("\n" in name for name in names)
        assert not any("…" in name for name in names)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "size"),
    [
        ("en", (3.5, 2.5)),
        *slow(("sk", (6, 2))),
    ],
)
def test_bars_in_small_axes_are_legible(lang: Lang, size: tuple[float, float]) -> None:
    """Under a title of several lines; names that have no room are cut."""
    fields: list[Grouping] = ["kraj", "section"]
    for by in fields:
        ax = fk.plot_counts(all_units(), by=by, lang=lang, ax=axes(*size))

        check_legible(ax)
        assert sum(bars(ax).values()) == all_units().height


# A colour of a terminal, a letter that XML does not have, marks that turn or hide text.
HOSTILE = "Ruža\x1b[31m\x00\x0b\u202e\u2066\u200b\x85 s. r. o."


def test_a_picture_holds_no_character_that_is_not_drawn() -> None:
    """The svg of a chart is XML, and no name of a filer turns a text around."""
    money = SAMPLE.financials([365], [2014, 2015]).with_columns(name=pl.lit(HOSTILE))
    counts = fk.count_by(all_units().filter(kraj="SK010")).with_columns(label=pl.lit(HOSTILE))
    drawings: list[Callable[[], Axes]] = [
        lambda: fk.plot_history(money, value="sales", register=SAMPLE),
        lambda: fk.plot_counts(counts, register=SAMPLE),
        *(partial(draw, register=SAMPLE, title=HOSTILE, note=HOSTILE) for draw in EVERY.values()),
    ]
    for draw in drawings:
        ax = draw()
        file = io.BytesIO()
        with plt.rc_context({"svg.fonttype": "none"}):
            plt.gcf().savefig(file, format="svg")
        plt.close(ax.figure)  # type: ignore[arg-type]

        texts = "".join(ElementTree.fromstring(file.getvalue()).itertext())
        assert texts.count("Ruža") >= (2 if isinstance(draw, partial) else 1)
        assert not {letter for letter in texts if not letter.isprintable()} - {"\n", "\u00a0"}
