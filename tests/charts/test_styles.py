"""Charts in the reader's style: what is written can be read on white as on black."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import polars as pl
import pytest
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import finstat_kit as fk
from finstat_kit.charts.parts import drawing
from tests.support.charts import EVERY, figures
from tests.support.examples import slow
from tests.support.pictures import axes, laid_out, texts
from tests.support.units import SAMPLE, all_units


@functools.cache
def _estimate(by: Any) -> pl.DataFrame:
    return SAMPLE.estimate(by, n=300)


CHARTS: dict[str, Any] = {
    "counts": lambda ax: fk.plot_counts(all_units(), ax=ax),
    "rest": lambda ax: fk.plot_counts(all_units(), by="okres", top=2, ax=ax),
    "sentence": lambda ax: fk.plot_counts(all_units().filter(kraj="SK010"), ax=ax),
    "regions": lambda ax: fk.plot_map(all_units(), ax=ax),
    "districts": lambda ax: fk.plot_map(all_units(), by="okres", ax=ax),
    "estimate": lambda ax: fk.plot_counts(_estimate("kraj"), ax=ax),
    "map of an estimate": lambda ax: fk.plot_map(_estimate("okres"), by="okres", ax=ax),
    "nothing": lambda ax: fk.plot_counts(all_units().head(0), ax=ax),
    "boxes": lambda ax: EVERY["plot_spread"](ax=ax),
    "lines": lambda ax: EVERY["plot_history"](ax=ax),
}


def grounds(ax: Axes) -> list[tuple[str, str, str]]:
    """Return each text, its colour and that behind it: of the bar or tile, else of the figure."""
    renderer = laid_out(ax)
    areas = [
        (patch.get_window_extent(renderer), to_hex(patch.get_facecolor()))
        for patch in ax.patches
        if isinstance(patch, Rectangle)
    ]
    figure = ax.figure
    assert isinstance(figure, Figure)
    found = []
    for text in texts(ax):
        box = text.get_window_extent(renderer)
        x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        on = [face for area, face in areas if area.contains(x, y) and ax.bbox.contains(x, y)]
        behind = on[-1] if on else to_hex(figure.get_facecolor())
        found.append((text.get_text(), to_hex(text.get_color()), behind))
    return found


QUICK = ("rest", "regions", "boxes")
# What another one shows as well: the same marks and texts, of other codes.
LIKE_ANOTHER = ("counts", "districts", "map of an estimate")
FEWER = (*QUICK, *LIKE_ANOTHER)


@pytest.mark.parametrize(
    ("chart", "name", "late"),
    [
        *((chart, "dark_background", True) for chart in QUICK),
        *slow(
            *((chart, "dark_background", True) for chart in CHARTS if chart not in FEWER),
            *((chart, "default", False) for chart in LIKE_ANOTHER),
        ),
    ],
)
def test_every_text_has_contrast(name: str, chart: str, late: bool) -> None:
    """At least 4.5:1, in the style that the axes were made in, also when it is over by then."""
    with style.context(name):
        ax = axes(9, 4.8)
        if not late:
            CHARTS[chart](ax)
    if late:
        CHARTS[chart](ax)

    assert isinstance(ax.figure, Figure)
    ax.figure.set_layout_engine("none")  # slow, and no colour depends on it
    found = grounds(ax)
    assert found
    assert [row for row in found if drawing.contrast(row[1], row[2]) < 4.5] == []


def test_bars_and_tiles_are_seen_on_white_and_black() -> None:
    """What stands for a number stands out from both."""
    for colour in (drawing.BLUE, drawing.PALE, drawing.GREY, *drawing.CODE_COLOURS):
        for face in ("white", "black"):
            assert drawing.contrast(colour, face) > 2, (colour, face)
    for colour in (*drawing.BLUES, *drawing.ORANGES, drawing.NO_VALUE_COLOUR):
        assert drawing.contrast(drawing.ink_on(colour), colour) >= 4.5
    assert drawing.contrast("#777777", "white") == pytest.approx(4.48, abs=0.01)


def test_a_failed_chart_leaves_no_figure() -> None:
    """What fails is closed, what succeeds is the one figure that is returned."""
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    before = plt.get_fignums()
    # No font has this sign; as an error, its warning comes in the midst of drawing.
    strange = fk.count_by(all_units(), "kraj").with_columns(label=pl.lit("\U00012000"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            fk.plot_counts(strange)
        with pytest.raises(UserWarning):
            fk.plot_map(all_units(), title="A \U00012000")
    assert plt.get_fignums() == before

    for draw in EVERY.values():
        ax = draw()
        assert len(plt.get_fignums()) == len(before) + 1
        plt.close(ax.figure)  # type: ignore[arg-type]
        assert plt.get_fignums() == before


def test_size_classes_stand_in_their_order() -> None:
    """By code, as the codelist has them, also where only the commonest are drawn."""
    counts = fk.count_by(all_units(), "velkostOrganizacie", lang="en").filter(kind="labelled")
    for top in (None, 5):
        ax = fk.plot_counts(counts, by="velkostOrganizacie", lang="en", top=top, ax=axes(8, 9))
        names = [label.get_text() for label in ax.get_yticklabels()]
        shown = counts.head(top or 30).sort("code")["label"].replace("1 employees", "1 employee")
        assert [name.replace("–", "-") for name in names[: len(shown)]] == shown.to_list()


def test_regions_have_their_bare_names() -> None:
    """What they are is in the heading; a label of one's own stays as it is."""
    counts = fk.count_by(all_units(), "kraj", lang="en").with_columns(
        pl.col("label").replace({"Region of Nitra": "My Nitra"})
    )

    def names(ax: Axes) -> list[str]:
        return [label.get_text() for label in ax.get_yticklabels()]

    english = names(fk.plot_counts(counts, lang="en", ax=axes(5, 4)))
    slovak = names(fk.plot_counts(all_units(), lang="sk", ax=axes(5, 4)))
    assert {"Banská Bystrica", "Bratislava", "My Nitra"} <= set(english)
    assert "Banskobystrický" in slovak


@pytest.mark.slow
def test_a_line_of_notes_is_below_a_chart() -> None:
    """As far as they fit, without details; the others are counted, and all are in ``notes``."""
    money = figures(150)
    for width, most in ((8, 3), (3.54, 7)):
        ax = fk.plot_spread(
            money, value="equity_ratio", lang="en", note="Mine.", ax=axes(width, 5), register=SAMPLE
        )

        *below, own, source = ax.get_xlabel().split("\n")
        assert (own, source) == ("Mine.", "Source: sample (invented) data")
        assert len(below) <= most
        assert below[0].startswith("Box: ")
        told = " ".join(below)
        in_all = ax.notes  # type: ignore[attr-defined]
        assert "no filing" not in told
        assert any("no filing" in note for note in in_all)
        assert in_all[-1] == "Mine."
        first, sign, more = told.partition(" Further notes: ")
        if sign:
            assert sum(note.split(" (")[0] in first for note in in_all) == len(in_all) - 1 - int(
                more[:-1]
            )
