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
from tests.support.charts import EVERY
from tests.support.examples import slow
from tests.support.pictures import axes, bars, check_legible
from tests.support.units import SAMPLE, all_units


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "size"),
    [
        ("en", (3.5, 2.5)),
        *slow(("sk", (6, 2))),
    ],
)
def test_bars_in_small_axes_are_legible(lang: Lang, size: tuple[float, float]) -> None:
    """Under a title of several lines, in the letters of print."""
    fields: list[Grouping] = ["kraj", "section"]
    for by in fields:
        with plt.rc_context({"font.size": 7}):
            ax = fk.plot_counts(all_units(), by=by, lang=lang, ax=axes(*size))

            check_legible(ax)
        assert max(map(len, bars(ax))) <= 40 + len(" (SKZZZ)")


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
