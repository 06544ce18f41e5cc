"""Arguments that are refused: what the error knows and how its text names the cure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk

REG = fk.sample(20)
UNITS = REG.units.get(REG.units.ids())


@pytest.mark.slow
def test_the_error_for_a_statement_over_years_names_its_table(tmp_path: Path) -> None:
    """It is shown, and its table is what is written."""
    history = fk.sample().statement(365, years=2)

    with pytest.raises(fk.UsageError, match=r"a finstat_kit History; give the polars .*\.frame"):
        fk.write(history, tmp_path / "history.xlsx")  # type: ignore[arg-type]

    assert fk.write(history.frame, tmp_path / "history.xlsx").exists()


NEAR: Any = "kraje"
MISSPELT: dict[str, tuple[Callable[[], object], str]] = {
    "count_by": (lambda: REG.count_by(UNITS, NEAR), "kraj"),
    "estimate": (lambda: REG.estimate(NEAR), "kraj"),
    "resolve_labels": (lambda: REG.resolve_labels(UNITS, columns=[NEAR]), "kraj"),
    "a column": (lambda: REG.resolve_labels(UNITS, columns={"okress": "districts"}), "okres"),
    "a codelist": (lambda: REG.resolve_labels(UNITS, columns={"okres": "district"}), "districts"),
    "plot_counts": (lambda: fk.plot_counts(UNITS, by=NEAR, register=REG), "kraj"),
    "plot_map": (lambda: fk.plot_map(UNITS, by=NEAR, register=REG), "kraj"),
    "plot_spread": (lambda: fk.plot_spread(UNITS, value="id", by=NEAR, register=REG), "kraj"),
    "fields": (lambda: fk.fields("unit"), "units"),
    "publish": (lambda: REG.publish(PravnaForma="112"), "pravnaForma"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_name_names_its_neighbours(name: str) -> None:
    """Wherever columns, codelists or collections are named."""
    call, meant = MISSPELT[name]
    with pytest.raises(fk.UsageError, match=rf"did you mean [^?]*'{meant}'"):
        call()


@pytest.mark.parametrize(
    ("call", "argument", "value", "text"),
    [
        (
            lambda: fk.units.count(changed_since="1.7.2026"),
            "changed_since",
            "1.7.2026",
            "changed_since='1.7.2026' is not a valid date; give 'YYYY-MM-DD', a datetime.date, or "
            "'-30d' to count back",
        ),
        (
            lambda: fk.units.ids(limit=-1),
            "limit",
            -1,
            "limit=-1 is not allowed; give a whole number, 0 or more",
        ),
        (
            lambda: fk.units.get([5], max_requests=0),
            "max_requests",
            0,
            "max_requests=0: this needs 1 requests, one per record; ",
        ),
        (
            lambda: fk.count_by(pl.DataFrame({"a": ["b"]}), "kraj"),
            "by",
            ...,
            "by: the frame has no column 'kraj'; it has ['a']",
        ),
        (
            lambda: fk.units.count(after_id=10**5_000),
            "after_id",
            10**5_000,
            "after_id=<int> is not allowed; give a whole number, 0 or more",
        ),
        (
            lambda: fk.locations("x", level="y" * 999),  # type: ignore[arg-type]
            "level",
            "y" * 999,
            f"level='{'y' * 199}…",
        ),
    ],
    ids=["day", "limit", "requests", "column", "number", "text"],
)
def test_an_error_has_the_fields_its_text_is_made_of(
    call: Callable[[], object], argument: str, value: object, text: str
) -> None:
    """Argument, value, what is wrong with it and the cure; only the text cuts a long value."""
    with fk.using(fk.sample(10)), pytest.raises(fk.UsageError) as caught:
        call()

    error = caught.value
    assert (error.argument, error.value) == (argument, value)
    assert str(error).startswith(text)
    assert error.message
    assert error.cure
    assert error.cure in str(error)


def test_an_error_may_have_a_sentence_alone() -> None:
    """Where no argument is at fault there is none in the text."""
    assert str(fk.UsageError(": it is late", cure="go home")) == "it is late; go home"
    assert str(fk.UsageError("it is late")) == "it is late"
