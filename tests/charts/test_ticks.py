"""The numbers on an axis say where its ticks lie."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import strategies as st
from matplotlib.axes import Axes

import finstat_kit as fk
from finstat_kit.arguments import Lang
from tests.support.examples import slow
from tests.support.pictures import axes, check_legible, laid_out

LANGS: list[Lang] = ["sk", "en"]
UNITS = {"tis.": 1e3, "mil.": 1e6, "mld.": 1e9, "k": 1e3, "m": 1e6, "bn": 1e9, "%": 0.01}


def number(text: str, lang: Lang) -> float:
    """Read a number back as a reader of the axis does: its sign, digits and unit."""
    plain = text.replace("\xa0", " ").replace("€", "").replace("−", "-").strip()
    unit = next((unit for unit in UNITS if plain.endswith(unit)), "")
    digits = plain.removesuffix(unit).replace(" ", "").replace(",", "." if lang == "sk" else "")
    return float(digits) * UNITS.get(unit, 1)


def check_true(ticks: list[float], texts: list[str], lang: Lang) -> None:
    """Each text is the number of its tick, to a hundredth of the distance between ticks."""
    step = min(after - before for before, after in pairwise(sorted(ticks)))
    assert len(set(texts)) == len(texts)
    for tick, text in zip(ticks, texts, strict=True):
        assert number(text, lang) == pytest.approx(tick, rel=1e-12, abs=step / 100)


sizes = st.builds(lambda digits, power: digits * 10.0**power, st.floats(1, 10), st.integers(-6, 12))
starts = st.one_of(st.just(0.0), sizes, sizes.map(lambda size: -size))


def shown(ax: Axes) -> tuple[list[float], list[str]]:
    """Return the ticks that are written below a chart, and their texts."""
    laid_out(ax)
    labels = [label for label in ax.get_xticklabels() if label.get_text()]
    return [float(label.get_position()[0]) for label in labels], [one.get_text() for one in labels]


@pytest.mark.parametrize(
    ("item", "low", "high", "lang"),
    [
        ("sales", 0, 15_000, "sk"),
        *slow(
            ("roa", 0, 0.0012, "en"),
            ("current_ratio", 1, 1.004, "sk"),
            ("sales", 1_000_000, 1_000_800, "en"),
        ),
    ],
)
def test_numbers_below_a_spread_are_true(item: str, low: float, high: float, lang: Lang) -> None:
    """Of amounts, shares and other numbers, also in a narrow range."""
    values = [low + (high - low) * n / 40 for n in range(41)]
    frame = pl.DataFrame({"kraj": ["SK010"] * len(values), item: values})

    ax = fk.plot_spread(frame, value=item, lang=lang, ax=axes())

    ticks, texts = shown(ax)
    assert len(ticks) > 2
    check_true(ticks, texts, lang)
    check_legible(ax)


@pytest.mark.parametrize(
    ("high", "width"),
    [(7, 3.54), *slow((0.6, 8), (1.5, 3.54), (4, 8))],
)
def test_numbers_lie_in_steps_that_are_counted_in_the_head(high: float, width: float) -> None:
    """Of 1, 2 or 5 with noughts: none of 15 % or 8 units, in print at the width of a column too."""
    values = [high * n / 40 for n in range(41)]
    rows = {"unit_id": range(41), "kraj": ["SK010"] * 41, "roa": values}
    history = pl.DataFrame({"roa": values, "year": range(2000, 2041)}).with_columns(
        unit_id=1, months=12, source_column=pl.lit("current"), supersedes=0, name=pl.lit("A")
    )
    charts = [
        fk.plot_spread(pl.DataFrame(rows), value="roa", ax=axes(width)),
        fk.plot_history(history, value="roa", ax=axes(width)),
    ]

    for ax in charts:
        laid_out(ax)
        for axis in (ax.xaxis, ax.yaxis):
            at = [float(x) for x in axis.get_majorticklocs()]
            assert len(at) > 1 or axis.get_ticklabels()[0].get_text() == "Bratislavský"
            if len(at) > 2 and axis.get_ticklabels()[0].get_text():
                steps = {f"{after - before:.0e}"[0] for before, after in pairwise(at)}
                assert steps <= {"1", "2", "5"}, (at, axis)


def test_a_narrow_scale_has_more_than_one_number() -> None:
    """Two groups in a legend of their own leave the boxes little room."""
    rows = [
        (unit, kraj, form, (unit % 27 - 15) / 100)
        for unit, (kraj, form) in enumerate([("SK010", "112"), ("SK010", "121")] * 30)
    ]
    frame = pl.DataFrame(rows, schema=["unit_id", "kraj", "pravnaForma", "roa"], orient="row")
    frame = frame.with_columns(year=2016)

    ax = fk.plot_spread(frame, value="roa", by=["kraj", "pravnaForma"], ax=axes(3.54, 3.2))

    laid_out(ax)
    low, high = ax.get_xlim()
    assert sum(low <= x <= high for x in ax.xaxis.get_majorticklocs()) > 1


def test_years_of_a_narrow_history_are_whole() -> None:
    """At least the first and the last, where they are, beside a hatched year too."""
    history = pl.DataFrame({"roa": [0.1, 0.2, 0.1, 0.3, 0.2, 0.1], "year": range(2014, 2020)})
    history = history.with_columns(
        unit_id=1, months=pl.when(year=2014).then(8).otherwise(12), supersedes=0, name=pl.lit("A"),
        source_column=pl.lit("current"),
    )  # fmt: skip

    ax = fk.plot_history(history, value="roa", lang="en", ax=axes(3.54, 3.2))

    ticks, names = shown(ax)
    within = [x for x in ticks if 2014 <= x <= 2019]
    assert len(within) >= 2
    assert [str(x).removesuffix(".0") for x in ticks] == names
