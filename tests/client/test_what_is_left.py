"""What a notebook shows of an error or Ctrl-C: how the work goes on, and where the rows are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import finstat_kit as fk
from finstat_kit.errors import RateLimited
from tests.support.examples import slow
from tests.support.remote_sample import Behind

UNITS = fk.sample(2_000).units.ids(limit=300)


def lines(error: BaseException) -> list[str]:
    rendered = error._render_traceback_()  # type: ignore[attr-defined]
    return "\n".join(rendered).splitlines()


def broken(behind: Behind, error: BaseException, after: int) -> None:
    """Let requests fail once some have been answered."""
    answer = behind._answer

    def failing(method: str, path: str, query: str) -> object:
        if len(behind.requests) >= after:
            raise error
        return answer(method, path, query)

    behind._answer = failing  # type: ignore[method-assign, assignment]


ID: Any = 9133463
NAME: Any = "orol"
CALLS: dict[str, Callable[[fk.Register], object]] = {
    "get": lambda register: register.units.get(UNITS),
    "financials": lambda register: register.financials(UNITS[:50], 2015),
    "filings": lambda register: register.filings(UNITS[:50], 2015),
    "match_units": lambda register: register.match_units(
        {"ico": [f"1{number:07}" for number in range(300)]}, ico="ico"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_is_two_or_three_lines(name: str, behind: Behind) -> None:
    """How far it was, how to go on with a cache, and the rows, if there are any."""
    broken(behind, KeyboardInterrupt(), after=150)
    with pytest.raises(fk.errors.Interrupted) as interrupted:
        CALLS[name](behind.register())

    shown = lines(interrupted.value)
    assert len(shown) == 2 + (interrupted.value.partial is not None and len(shown) > 2)
    assert shown[0].startswith("Interrupted: interrupted ")
    assert shown[1] == (
        "  the same line continues where replies are kept: "
        "fk.use('https://ruz.example', cache='ruz.cache')"
    )
    if name == "get":
        assert shown[2] == "  the 150 rows before it are in sys.last_value.partial"


@pytest.mark.filterwarnings("ignore:numbers of no unit")
@pytest.mark.parametrize("name", ["get", *slow("financials", "match_units")])
def test_with_a_cache_the_same_line_continues(name: str, behind: Behind, tmp_path: Path) -> None:
    """It says so, and it does: no reply is requested twice."""
    path = tmp_path / "ruz.cache"
    whole = behind._answer
    broken(behind, KeyboardInterrupt(), after=150)
    with (
        behind.register(cache=path) as register,
        pytest.raises(fk.errors.Interrupted) as interrupted,
    ):
        CALLS[name](register)
    first = behind.sent()
    behind._answer = whole  # type: ignore[method-assign]
    with behind.register(cache=path, max_age="1d") as register:
        CALLS[name](register)

    assert lines(interrupted.value)[1] == f"  the same line continues: replies are kept in {path}"
    assert not {request for request in first[:-1] if "jednotka" in request} & set(behind.sent())


def test_an_error_says_it_too(behind: Behind) -> None:
    """Below what happened."""
    broken(behind, RateLimited("429", retry_after=900.0), after=20)
    with pytest.raises(RateLimited) as limited:
        behind.register().units.get(UNITS)

    shown = lines(limited.value)
    assert "the same line continues where replies are kept: " in shown[-2]
    assert shown[-1] == "  the 20 rows before it are in sys.last_value.partial"


def test_a_walk_of_ids_names_the_line_that_resumes_it(behind: Behind) -> None:
    """Its lists are requested anew, with a cache too: it has a cursor."""
    broken(behind, KeyboardInterrupt(), after=2)
    with pytest.raises(fk.errors.Interrupted) as interrupted:
        behind.register(page_size=500).units.ids()

    shown = lines(interrupted.value)
    assert shown[0] == "Interrupted: interrupted after 1,000 ids; to resume:"
    assert shown[1].startswith('  fk.units.ids(changed_since="2000-01-01", after_id=')
    assert shown[2] == "  the 1,000 rows before it are in sys.last_value.partial"


def test_the_line_that_resumes_a_walk_keeps_its_limit(behind: Behind) -> None:
    """What is left of it: the ids so far count."""
    broken(behind, KeyboardInterrupt(), after=2)
    with pytest.raises(fk.errors.Interrupted) as interrupted:
        behind.register(page_size=500).units.ids(limit=1_700)

    assert str(interrupted.value).endswith(", limit=700)")


def test_the_need_is_named_before_the_limit_that_nobody_gave(behind: Behind) -> None:
    """A limit that somebody gave is the argument at fault."""
    register = behind.register(rate=5)
    with pytest.raises(fk.UsageError, match=r"^this needs 10,500 requests.*the limit is 10,000; "):
        register.units.get(range(1, 10_501))
    with pytest.raises(fk.UsageError, match=r"^max_requests=5: this needs 6 requests, one per"):
        register.units.get(range(1, 7), max_requests=5)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: fk.sample(5).as_filed(ID),
            r"report=9133463 is an id; give its record: fk\.reports\.ge",
        ),
        (
            lambda: fk.sample(5).reports.cells(ID),
            r"reports=9133463 is an id; give its record: fk\.reports\.get",
        ),
        (
            lambda: fk.reports.files(ID),
            r"reports=9133463 is an id; give its record: fk\.reports\.ge",
        ),
        (lambda: fk.sample(5).statement(NAME), r"look .*: fk\.units\.find\('orol'\)"),
        (lambda: fk.sample(5).units.get(NAME), r"look .*: fk\.units\.find\('orol'\)"),
        (lambda: fk.sample(5).financials(NAME, 2015), r"look .*: fk\.units\.find\('orol'\)"),
        (lambda: fk.use("LIVE"), r"'LIVE' is not a register; did you mean 'live'\?"),
        (lambda: fk.use("Sample"), r"'Sample' is not a register; did you mean 'sample'\?"),
    ],
)
def test_what_was_meant_is_named(call: Callable[[], object], text: str) -> None:
    """The function that takes an id to a record, or a name to an id."""
    with pytest.raises(fk.UsageError, match=text):
        call()


@pytest.mark.slow
def test_a_year_may_be_a_text() -> None:
    """As a form or a csv gives it."""
    register = fk.sample()

    assert register.financials([365], "2015").equals(register.financials([365], 2015))  # type: ignore[arg-type]
    assert register.filings([365], ["2014", 2015]).equals(register.filings([365], [2014, 2015]))  # type: ignore[list-item]
    with pytest.raises(fk.UsageError, match="year='15' is not allowed"):
        register.financials([365], "15")  # type: ignore[arg-type]
