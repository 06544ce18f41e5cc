"""What is new since a former state, beside what the test did to the register."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import finstat_kit as fk
from finstat_kit.mirror.news import NEWS
from finstat_kit.protocol.wire import Reply
from tests.cli.test_commands import called, run
from tests.support.mirrors import RECORDS, data
from tests.support.registers import Watched
from tests.support.syncs import next_day

Change = Callable[[dict[str, Any]], object]
FLAGS = ("consolidated", "central_government", "summary")
Row = tuple[int, str, str | None, int | None]  # unit, what, fields, statement
_LISTED = {"statements": "/api/uctovne-zavierky", "reports": "/api/uctovne-vykazy"}


class Edited(Watched):
    """A register some of whose records say something else, and are listed as changed."""

    def __init__(self, units: int = 60) -> None:
        super().__init__(fk.sample(units))
        self._edits: dict[tuple[str, int], list[Change]] = {}
        self.instead = self._edited

    def edit(self, name: str, id_: int, change: Change) -> None:
        self._edits.setdefault((name, id_), []).append(change)
        if name == "units":
            self.sample.touch([id_])

    def _edited(self, path: str, query: str) -> Reply | None:
        reply = self.sample._answer("GET", path, query)
        for name, record in RECORDS.items():
            changes = self._edits.get((name, int(query[3:]))) if path == record else None
            if changes:
                body = json.loads(reply.body)
                for change in changes if "stav" not in body else ():
                    change(body)
                return reply._replace(body=json.dumps(body).encode())
            if path == _LISTED.get(name):
                body = json.loads(reply.body)
                edited = {id_ for of, id_ in self._edits if of == name}
                body["id"] = sorted({*body["id"], *edited})
                return reply._replace(body=json.dumps(body).encode())
        return None


def _rows(news: pl.DataFrame) -> set[Row]:
    assert news.schema == NEWS
    rows = set(news.select("unit_id", "what", "fields", "statement_id").iter_rows())
    assert len(rows) == news.height
    return rows


def _without(list_name: str, id_: int) -> Change:
    return lambda body: body[list_name].remove(id_)


def _moved(street: str) -> Change:
    return lambda body: body.update(ulica=street)


def _recoded(office: str) -> Change:
    return lambda body: body.update(kodDanovehoUradu=office)


def _delete(body: dict[str, Any]) -> None:
    for name in [name for name in body if name not in ("id", "datumPoslednejUpravy")]:
        del body[name]
    body["stav"] = "ZMAZANÉ"


def _day(register: Edited, luck: random.Random) -> list[Row]:
    """Let one thing happen to each of some units; return the truth of it."""
    records = register.units.get(register.units.ids()).filter(pl.col("stav").is_null())
    filed = records.filter(pl.col("idUctovnychZavierok").list.len() > 2)
    rows: list[Row] = []
    for unit in luck.sample(filed["id"].to_list(), 5):
        own = register.filings(unit).filter(counts=True, kind="Riadna")
        # What is filed again is of a plain year.
        own = own.filter(pl.col("report_ids").list.len() > 0, months=12)
        own = own.filter(pl.col("fund").is_null(), ~pl.any_horizontal(FLAGS))
        if own.is_empty():
            continue
        statement, reports = own.select("statement_id", "report_ids").row(-1)
        match luck.randrange(8):
            case 0:
                years = set(range(2015, 2026)) - set(register.filings(unit)["year"])
                new = register.sample.file([unit], year=max(years))["id"][0] if years else None
                rows += [(unit, "new", None, new)] if new else []
            case 1:
                rows.append((unit, "new", None, register.sample.correct([statement])["id"][0]))
            case 2:
                register.edit("reports", reports[0], _recoded(str(luck.random())))
                rows.append((unit, "corrected", None, statement))
            case 3:
                register.edit("units", unit, _without("idUctovnychZavierok", statement))
                rows.append((unit, "gone", None, statement))
            case 4:
                register.edit("statements", statement, _delete)
                rows.append((unit, "gone", None, statement))
            case 5:
                register.edit("units", unit, _moved(f"Nová {luck.random()}"))
                rows.append((unit, "changed", "ulica", None))
            case 6:
                register.sample.touch([unit])
            case 7 if luck.random() < 0.3:
                register.sample.delete([unit])
                rows.append((unit, "changed", "gone", None))
    return rows


def _see_figures(news: pl.DataFrame, register: fk.Register) -> int:
    """Compare the figures of filings with those that the register gives; return their number."""
    seen = 0
    filings = news.filter(pl.col("what").is_in(["new", "corrected"]))
    for row in filings.drop_nulls("statement_id").iter_rows(named=True):
        flag = row["consolidated"]
        money = register.financials(row["unit_id"], None, consolidated=flag)
        own = money.filter(statement_id=row["statement_id"])
        assert row["year"] == (own["year"][0] if own.height else row["year"])
        former = money.filter(year=(row["year"] or 0) - 1)  # of some no period is known
        for item in ("total_assets", "sales"):
            assert row[item] == (own[item][0] if own.height else None)
            is_beside = own.height and former.height
            assert row[f"{item}_before"] == (former[item][0] if is_beside else None)
        seen += row["total_assets"] is not None and row["total_assets_before"] is not None
    return seen


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "given"), [(1, False), (2, True)])
def test_a_month_of_syncs_gives_what_was_done_to_the_register(
    tmp_path: Path, seed: int, given: bool
) -> None:
    luck, register = random.Random(seed), Edited(40)
    records = register.units.get(register.units.ids()).filter(pl.col("stav").is_null())
    mine = sorted(luck.sample(records["id"].to_list(), 25)) if given else None
    mirror = fk.Mirror(tmp_path / "ruz", units=mine, contents=True, register=register)
    mirror.sync()
    kinds: dict[str, int] = {}
    seen = 0
    for number in range(30):
        point, day = mirror.point, str(mirror.today)
        next_day(register)
        truth = {row for row in _day(register, luck) if mine is None or row[0] in mine}
        if mine is None and luck.random() < 0.3:
            truth.add((register.sample.publish(1)["id"][0], "changed", "id", None))
        mirror.sync()

        news = mirror.news(point)
        assert _rows(news) == truth
        assert number % 5 or news.equals(mirror.news(day))
        seen += _see_figures(news, register)
        for _, what, _, _ in truth:
            kinds[what] = kinds.get(what, 0) + 1
    assert {*kinds} == {"new", "corrected", "gone", "changed"}
    assert seen > 10


def _mine(register: Edited, tmp_path: Path, many: int = 2) -> tuple[fk.Mirror, list[int]]:
    """Return a mirror of the first units with statements, synced, and their ids."""
    records = register.units.get(register.units.ids())
    filed = records.filter(pl.col("idUctovnychZavierok").list.len() > 2)["id"].to_list()
    mirror = fk.Mirror(tmp_path / "mine", units=filed[:many], contents=True, register=register)
    mirror.sync()
    return mirror, filed


@pytest.mark.slow
def test_filings_of_a_unit_that_was_added_are_no_news(tmp_path: Path) -> None:
    """Its first records are none; what it files later is."""
    register = Edited()
    mirror, ids = _mine(register, tmp_path)
    point = mirror.point
    next_day(register)
    mirror = fk.Mirror(mirror.path, units=ids[2:3], register=register)
    mirror.sync()
    assert mirror.units.ids().height == 3
    assert mirror.news(point).is_empty()

    second = mirror.point
    next_day(register)
    filed = register.sample.file(ids[2:3], year=2025)["id"][0]
    mirror.sync()
    assert _rows(mirror.news(second)) == {(ids[2], "new", None, filed)}
    assert mirror.news(point).is_empty()


@pytest.mark.slow
def test_annual_reports_and_consolidated_filings_are_news(tmp_path: Path) -> None:
    register = Edited()
    mirror, ids = _mine(register, tmp_path)
    point = mirror.point
    foreign = register.annual_reports.ids()["id"][0]
    next_day(register)
    filed = register.sample.file(ids[:1], year=2025, case="consolidated")["id"][0]
    register.edit("units", ids[1], lambda body: body.update(idVyrocnychSprav=[foreign]))
    mirror.sync()

    news = mirror.news(point)
    assert _rows(news) == {(ids[0], "new", None, filed), (ids[1], "new", None, None)}
    record = register.annual_reports.get([foreign])
    columns = ["year", "kind", "filed", "annual_report_id"]
    assert news.filter(unit_id=ids[1]).select(columns).row(0) == (
        record["obdobieDo"].dt.year()[0], record["typ"][0], record["datumPodania"][0], foreign,
    )  # fmt: skip
    assert news["consolidated"].to_list() == [True, None]


def test_a_mirror_of_units_alone_names_the_filings(tmp_path: Path) -> None:
    """What their records would say is null; the columns are the same."""
    register = Edited()
    ids = register.units.ids()["id"].to_list()
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    point = mirror.point
    next_day(register)
    living = register.units.get(ids).filter(pl.col("stav").is_null())["id"][0]
    filed = register.sample.file([living], year=2025)["id"][0]
    mirror.sync()

    news = mirror.news(point)
    assert _rows(news) == {(living, "new", None, filed)}
    assert news.select("year", "filed", "sales").row(0) == (None, None, None)


def test_records_that_are_kept_later_are_no_news(tmp_path: Path) -> None:
    """Those of a deleted or non-public filing, too: it may have been so before."""
    register = Edited(12)
    mirror = fk.Mirror(tmp_path / "ruz", register=register)
    mirror.sync()
    point = mirror.point
    next_day(register)
    mirror = fk.Mirror(mirror.path, contents="statements", register=register)
    mirror.sync()

    assert mirror.statements.scan().collect()["stav"].drop_nulls().len()
    assert mirror.news(point).is_empty()


@pytest.mark.slow
def test_what_came_and_went_in_between_is_no_news(tmp_path: Path) -> None:
    register = Edited()
    mirror, ids = _mine(register, tmp_path)
    point, street = mirror.point, mirror.units.get(ids[:1])["ulica"][0]
    for new in ("Iná 1", street):
        next_day(register)
        register.edit("units", ids[0], _moved(new))
        mirror.sync()

    assert mirror.changes().filter(field="ulica").height == 2
    assert mirror.news(point).is_empty()
    assert _rows(mirror.news("2026-07-01")) == {(ids[0], "changed", "ulica", None)}


def test_days_and_points_that_are_not_there_are_refused(tmp_path: Path) -> None:
    register = Edited()
    mirror, _ = _mine(register, tmp_path)
    for since, fault in {
        "2026-06-01": "since='2026-06-01': the first sync of this mirror was completed on 2026-06",
        "2026-07-01": "since='2026-07-01': the last sync of this mirror was completed on 2026-06",
        "0123456789abcdef": "since='0123456789abcdef' is not a valid date; give one",
        "monday": "since='monday' is not a valid date; give one such as '2026-06-30', or a point",
    }.items():
        with pytest.raises(fk.UsageError) as refused:
            mirror.news(since)
        assert fault in str(refused.value)


@pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")
@pytest.mark.parametrize("log", ["units", "statements", "reports", "cells"])
def test_states_whose_rows_were_lost_are_refused(tmp_path: Path, log: str) -> None:
    """Until the next sync what needs them fails; from then on states that counted them are."""
    register = Edited()
    mirror, ids = _mine(register, tmp_path)
    point = mirror.point
    next_day(register)
    register.sample.touch(ids[:1])
    mirror.sync()
    second = mirror.point
    data(mirror.path, log)[-1 if log == "units" else 0].unlink()
    whole = fk.Mirror(mirror.path, register=register)
    if log != "cells":  # nothing new is read from these
        with pytest.raises(fk.RegisterError):
            whole.news(point)

    next_day(register)
    whole.sync()
    counted = second if log == "units" else point
    with pytest.raises(
        fk.UsageError, match=rf"rows of {log} that counted then were lost; give '2026-07-02' or"
    ):
        whole.news(counted)
    assert whole.news(whole.point).is_empty()


# The command


def _news(mirror: fk.Mirror) -> str:
    """Return what the command prints, which it must not do with an error."""
    result = called("news", str(mirror.path), "--columns", "unit_id,what,year")
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_the_command_prints_what_is_new_since_it_last_did(tmp_path: Path) -> None:
    """Nothing at first, nothing twice, and after a failed sync what it would have printed."""
    register = Edited()
    mirror, ids = _mine(register, tmp_path)
    assert _news(mirror) == ""
    assert _news(mirror) == ""

    next_day(register)
    register.sample.file(ids[:1], year=2025)
    edited, register.instead = register.instead, lambda path, query: Reply(500, {}, b"")
    with pytest.raises(fk.RegisterError):
        mirror.sync()
    assert _news(mirror) == ""
    register.instead = edited
    mirror.sync()

    assert _news(mirror) == f"unit_id,what,year\n{ids[0]},new,2025\n"
    assert _news(mirror) == ""
    mark = json.loads((tmp_path / "mine.news.json").read_bytes())
    assert mark == mirror.point


@pytest.mark.slow
def test_the_mark_stays_where_nothing_could_be_written(tmp_path: Path) -> None:
    register = Edited()
    mirror, ids = _mine(register, tmp_path)
    _news(mirror)
    next_day(register)
    register.sample.file(ids[:1], year=2025)
    mirror.sync()
    (tmp_path / "out.csv").mkdir()
    refused = called("news", str(mirror.path), "-o", str(tmp_path / "out.csv"))
    assert refused.returncode == 2
    assert called("news", str(mirror.path), "--columns", "nothing").returncode == 2

    assert _news(mirror) == f"unit_id,what,year\n{ids[0]},new,2025\n"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")
def test_an_unknown_point_is_said_and_replaced(tmp_path: Path) -> None:
    """After anew=True, and where the mark is another mirror's."""
    register = Edited()
    mirror, _ = _mine(register, tmp_path)
    _news(mirror)
    next_day(register)
    mirror.sync(anew=True)

    said = called("news", str(mirror.path))
    assert (said.returncode, said.stdout) == (0, "")
    assert "mine.news.json is not known: since=" in said.stderr
    assert said.stderr.count("\n") == 1
    assert _news(mirror) == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::finstat_kit.errors.RegisterWarning")
def test_a_mark_whose_state_was_lost_is_said_and_replaced_once_it_is_whole(tmp_path: Path) -> None:
    register = Edited()
    mirror, ids = _mine(register, tmp_path)
    _news(mirror)
    mark = (tmp_path / "mine.news.json").read_bytes()
    next_day(register)
    register.sample.touch(ids[:1])
    mirror.sync()
    data(mirror.path, "units")[0].unlink()

    def refuse(path: str, query: str) -> Reply | None:
        return Reply(500, {}, b"") if path == RECORDS["units"] else None

    for is_noted in (False, True):
        if is_noted:  # by a sync that goes no further
            edited, register.instead = register.instead, refuse
            with pytest.raises(fk.RegisterError):
                mirror.sync()
            register.instead = edited
        failed = called("news", str(mirror.path))
        assert (failed.returncode, failed.stdout) == (1, "")
        assert (tmp_path / "mine.news.json").read_bytes() == mark
    next_day(register)
    mirror.sync()

    said = called("news", str(mirror.path))
    assert (said.returncode, said.stdout) == (0, "")
    assert "the next call prints what is new from now on" in said.stderr
    assert _news(mirror) == ""


@pytest.mark.parametrize("mark", [b"", b"{", b"[]", b'{"point": "0"}', b"\xff\xfe"])
def test_a_damaged_mark_is_an_error(tmp_path: Path, mark: bytes) -> None:
    mirror, _ = _mine(Edited(), tmp_path)
    (tmp_path / "mine.news.json").write_bytes(mark)

    failed = called("news", str(mirror.path))
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "mine.news.json, which keeps what was printed last, cannot be read" in failed.stderr
    assert "delete it: the next call prints nothing and begins anew" in failed.stderr
    assert (tmp_path / "mine.news.json").read_bytes() == mark


def test_a_mark_that_cannot_be_written_is_an_error_before_anything_is_printed(
    tmp_path: Path,
) -> None:
    mirror, _ = _mine(Edited(), tmp_path)
    (tmp_path / "mine.news.json").mkdir()

    failed = called("news", str(mirror.path))
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "mine.news.json" in failed.stderr


def test_no_mirror_is_an_error_and_sets_no_mark(tmp_path: Path) -> None:
    failed = run("news", str(tmp_path / "none"))
    assert failed.exit_code == 1
    assert isinstance(failed.exception, fk.errors.MirrorError)
    assert list(tmp_path.iterdir()) == []
