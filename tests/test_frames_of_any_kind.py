"""Frames go in from anywhere: pandas, Arrow, lists of dicts, dicts of columns. Polars comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.text import Text
from polars.testing import assert_frame_equal

import finstat_kit as fk
from tests.support.examples import quick

REGISTER: Final = fk.sample(2_000)


@cache
def units() -> pl.DataFrame:
    return REGISTER.units.get(REGISTER.units.ids(limit=150), errors="keep")


@cache
def reports() -> pl.DataFrame:
    return REGISTER.reports.get(REGISTER.reports.ids(limit=10))


@cache
def money() -> pl.DataFrame:
    return REGISTER.financials(units().head(30), [2015, 2016])


def a_unit() -> int:
    return int(money().drop_nulls("total_assets")["unit_id"][0])


def panel() -> pl.DataFrame:
    return REGISTER.panel(money())[0]


class Stream:
    """Any library's frame that exports an Arrow stream."""

    def __init__(self, frame: pl.DataFrame | pl.Series) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Return columns as pandas makes them of Python's values, without pyarrow."""
    return pd.DataFrame(frame.to_dict(as_series=False))


def by_id(frame: pl.DataFrame) -> pd.DataFrame:
    return as_pandas(frame).set_index(frame.columns[0])


KINDS: Final[dict[str, Callable[[pl.DataFrame], Any]]] = {
    "pandas": as_pandas,
    "objects": lambda frame: as_pandas(frame).astype(object),
    "an index": by_id,
    "arrow": Stream,
    "rows": lambda frame: frame.to_dicts(),
    "columns": lambda frame: frame.to_dict(as_series=False),
}
TAKING: Final[dict[str, tuple[Callable[[], pl.DataFrame], Callable[[Any], object]]]] = {
    "resolve_labels": (units, REGISTER.resolve_labels),
    "unresolved_codes": (units, REGISTER.unresolved_codes),
    "count_by": (units, REGISTER.count_by),
    "units.get": (units, REGISTER.units.get),
    "filings": (lambda: units().head(8), lambda frame: REGISTER.filings(frame, 2015)),
    "financials": (lambda: units().head(8), lambda frame: REGISTER.financials(frame, 2015)),
    "statement": (lambda: units()[3:4], lambda x: REGISTER.statement(x).frame),
    "cells": (reports, REGISTER.reports.cells),
    "check": (reports, REGISTER.reports.check),
    "as_filed": (lambda: reports()[:1], lambda frame: str(REGISTER.as_filed(frame))),
    "files": (reports, fk.reports.files),
    "ratios": (money, fk.ratios),
    "summary": (money, lambda frame: fk.summary(frame, ["sales", "roa"], by="kraj")),
    "panel": (money, lambda frame: REGISTER.panel(frame)[0]),
    "flows": (money, lambda frame: REGISTER.panel(frame)[1]),
    "growth": (panel, lambda frame: fk.growth(frame, ["sales"])),
    "peers": (money, lambda frame: fk.peers(frame, a_unit(), "total_assets")),
    "plot_counts": (units, lambda frame: drawn(fk.plot_counts(frame, register=REGISTER))),
    "plot_map": (units, lambda frame: drawn(fk.plot_map(frame, register=REGISTER))),
    "plot_spread": (
        money, lambda frame: drawn(fk.plot_spread(frame, value="roa", register=REGISTER))
    ),
    "plot_history": (
        lambda: money().filter(unit_id=a_unit()),
        lambda frame: drawn(fk.plot_history(frame, value="total_assets", register=REGISTER)),
    ),
    "Explorer": (units, lambda frame: fk.Explorer(frame, register=REGISTER).line.value),
    "StatementViewer": (
        units, lambda frame: fk.StatementViewer(frame, register=REGISTER).unit.value
    ),
    "LocationPicker.filter": (units, lambda x: fk.LocationPicker(register=REGISTER).filter(x)),
    "ChangePicker.filter": (units, lambda x: fk.ChangePicker(register=REGISTER).filter(x)),
}  # fmt: skip


def drawn(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.figure.findobj(Text)]


@pytest.fixture(autouse=True)
def figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")
@pytest.mark.parametrize(
    ("name", "kind"), quick(zip(TAKING, cycle(KINDS), strict=False), len(KINDS))
)
def test_a_frame_of_any_kind_gives_what_one_of_polars_gives(name: str, kind: str) -> None:
    """Wherever frames go in; pandas has neither days nor integers with a gap."""
    make, call = TAKING[name]
    frame = make()

    result, expected = call(KINDS[kind](frame)), call(frame)

    if isinstance(expected, pl.DataFrame):
        assert isinstance(result, pl.DataFrame)
        assert_frame_equal(result, expected, check_dtypes=False, categorical_as_str=True)
    else:
        assert result == expected


def test_a_frame_of_any_kind_is_written(tmp_path: Path) -> None:
    """As the same file."""
    expected = fk.write(units(), tmp_path / "polars.csv").read_bytes()
    for number, (kind, make) in enumerate(KINDS.items()):
        assert fk.write(make(units()), tmp_path / f"{number}.csv").read_bytes() == expected, kind


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["Nitra", None, float("nan")], dtype=object),
        pd.Series(["Nitra", None, pd.NA], dtype="string"),
        pd.Series(["Nitra", None, None], dtype="category"),
        np.array(["Nitra", None, float("nan")], dtype=object),
        Stream(pl.Series(["Nitra", None, None])),
        ("Nitra", None, float("nan")),
    ],
)
def test_names_come_from_any_column(column: Any) -> None:
    """What is missing in it is missing, however the library marks it."""
    matches = REGISTER.match_places(column, level="district")

    assert matches["code"].to_list() == ["SK0233", None, None]
    assert matches["given"].to_list() == ["Nitra", None, None]


@pytest.mark.parametrize(
    "ids",
    quick([
        np.int64(210), np.array([210]), [np.uint32(210)], pd.Series([210]), pd.Index([210]),
        pd.DataFrame({"id": [210]}), {"id": [210]}, [{"id": 210}], Stream(pl.Series([210])),
    ], 4),
)  # fmt: skip
def test_ids_come_from_any_column_or_number(ids: Any) -> None:
    """Also a single one of numpy."""
    assert fk.sample().units.get(ids)["id"].to_list() == [210]


def test_days_and_numbers_with_a_gap_are_what_they_were() -> None:
    """pandas has moments for days, and floats for whole numbers of which one is missing."""
    frame = pd.DataFrame(
        {
            "unit_id": [1.0, 2.0, None],
            "day": pd.to_datetime(["2024-01-31", "2024-02-29", None]),
            "moment": pd.to_datetime(["2024-01-31 10:00", None, None]),
            "sales": [1.0, None, 2.0],
        }
    )

    columns = REGISTER.resolve_labels(frame.assign(kraj="SK010"))

    assert columns.schema["unit_id"] == pl.Int64
    assert columns["unit_id"].to_list() == [1, 2, None]
    assert columns["day"].to_list() == [date(2024, 1, 31), date(2024, 2, 29), None]
    assert columns.schema["moment"] == pl.Datetime("us")
    assert columns["sales"].to_list() == [1.0, None, 2.0]
    assert columns.schema["sales"] == pl.Float64


@pytest.mark.parametrize("column", [[112, 205], [112.0, None]])
def test_codes_that_are_numbers_are_refused_in_any_frame(column: list[float]) -> None:
    """Their zeros are lost: the cure is to read them as text."""
    for frame in (pd.DataFrame({"pravnaForma": column}), {"pravnaForma": column}):
        with pytest.raises(fk.UsageError, match=r"'pravnaForma' is (Int|Float)64; .*text"):
            REGISTER.count_by(frame, "pravnaForma")  # type: ignore[arg-type]


def test_what_no_frame_can_be_made_of_is_refused() -> None:
    """With the argument, and what the library says."""
    twice = pd.DataFrame([["SK010", "SK021"]], columns=["kraj", "kraj"])
    for frame in (twice, {"kraj": ["SK010"], "okres": ["SK0101", "SK0102"]}):
        with pytest.raises(fk.UsageError, match=r"^frame cannot be read as a frame: "):
            REGISTER.count_by(frame)  # type: ignore[arg-type]
    with pytest.raises(fk.UsageError, match="give a frame: of polars, pandas or Arrow, a list of"):
        REGISTER.count_by("SK010")  # type: ignore[arg-type]
    both = (pl.DataFrame({"year": [2018]}), pl.DataFrame())
    with pytest.raises(fk.UsageError, match=r"^panel is a tuple; give one of the frames in it, as"):
        fk.growth(both, ["sales"])  # type: ignore[arg-type]
