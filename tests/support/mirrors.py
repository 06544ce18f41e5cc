"""What tests of the mirror share: its lists, whether it equals the register, and its files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import finstat_kit as fk
from finstat_kit.protocol import wire
from tests.support.registers import Watched
from tests.support.syncs import SEED, UNITS

CODELISTS = tuple(wire.CODELISTS)

QUARTER = 72  # units per page, and per minute: four commits

LISTS = ("units", "statements", "reports", "annual_reports")
CONTENTS = LISTS[1:]
RECORDS = {
    "units": "/api/uctovna-jednotka",
    "statements": "/api/uctovna-zavierka",
    "reports": "/api/uctovny-vykaz",
    "annual_reports": "/api/vyrocna-sprava",
}


# Each takes a collection, and what else it is called with; none may need a second call to refuse.
WAYS: dict[str, Callable[..., Any]] = {
    "count": lambda c, **o: c.count(**o),
    "count after_id": lambda c, **o: c.count(after_id=5_000, **o),
    "ids": lambda c, **o: c.ids(**o),
    "ids limit": lambda c, **o: c.ids(limit=3, **o),
    "ids after_id": lambda c, **o: c.ids(after_id=5_000, **o),
    "ids connections": lambda c, **o: c.ids(connections=4, page_size=10, **o),
    "pages": lambda c, **o: c.pages(**o),
    "pages after_id": lambda c, **o: c.pages(page_size=7, after_id=5_000, **o),
}


def ways_in_turn(*others: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return each of `WAYS` once, with the values of some sequences in turn."""
    return list(zip(WAYS, *(cycle(values) for values in others)))  # noqa: B905  # cycles go on


def assert_contents_in_step(mirror: fk.Register, register: fk.Register) -> None:
    """Compare every record that a mirror keeps beside units with the register's."""
    for name in CONTENTS:
        ids = getattr(register, name).ids()
        records = getattr(register, name).get(ids)
        assert_frame_equal(getattr(mirror, name).get(ids), records)
        assert_frame_equal(getattr(mirror, name).scan().collect(), records)


def listed(mirror: fk.Mirror) -> pl.DataFrame:
    """Return the records of a mirror that the register lists, by id."""
    units = mirror.snapshot().filter(pl.col("gone").ne_missing("missing"))
    return units.drop("gone", "seen").collect().sort("id")


def assert_in_step(mirror: fk.Mirror, register: fk.Register) -> None:
    """Compare everything that a mirror holds with what the register says."""
    ids = register.units.ids()
    records = register.units.get(ids)
    assert_frame_equal(listed(mirror), records)
    assert_frame_equal(mirror.units.ids(), ids)
    for name in CONTENTS:
        assert_frame_equal(getattr(mirror, name).ids(), getattr(register, name).ids())
    for name in CODELISTS:
        assert_frame_equal(mirror.codelist(name), register.codelist(name))
    gone = mirror.snapshot().select("id", "gone").collect()
    states = records.select("id", pl.col("stav").str.to_uppercase())
    expected = {"ZMAZANÉ": "deleted", "NEVEREJNÁ": "non-public"}
    assert dict(gone.filter(pl.col("gone").ne_missing("missing")).rows()) == {
        id_: expected.get(state) for id_, state in states.rows()
    }


def synced(path: Path, register: fk.Register, *, contents: bool = False) -> Path:
    """Make a mirror by a first sync; return its folder, of which tests take copies."""
    fk.Mirror(path, contents=contents, register=register).sync()
    return path


def contents(path: Path) -> dict[str, bytes]:
    """Return the files of a folder, but for the lock."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in path.rglob("*")
        if file.is_file() and file.name != "writer.lock"
    }


def newest_run(path: Path, run: Path | None = None) -> dict[str, Any]:
    """Return what a run of a folder says, as the docs describe it; None is the newest."""
    said: dict[str, Any] = json.loads((run or max(path.glob("runs/*.json"))).read_bytes())
    content: dict[str, Any] = said["content"]
    return content


def points(path: Path) -> list[dict[str, Any]]:
    """Return the points of the newest run of a folder."""
    found: list[dict[str, Any]] = newest_run(path)["points"]
    return found


def data(path: Path, log: str) -> list[Path]:
    """Return the files of a log by the newest run, the oldest rows first."""
    return [path / "data" / f"{file['name']}.parquet" for file in newest_run(path)["files"][log]]


def register_on(day: int) -> Watched:
    """Return a register of 240 units on its first or second day, the same in every process."""
    register = Watched(fk.sample(UNITS, seed=SEED), page_size=QUARTER, rate=QUARTER / 60)
    if day == 2:
        sample = register.sample
        sample.set_today("2026-07-01")
        ids = sample.units.ids()["id"]
        sample.touch(ids)
        sample.delete(ids[100:110])
        sample.hide(ids[140:145])
        sample.publish(20, kraj="SK010")
    return register


def filings_on(day: int) -> Watched:
    """Return a register of 10 units and their filings on its first or second day."""
    register = Watched(fk.sample(10), page_size=50)
    if day == 2:
        sample = register.sample
        sample.set_today("2026-07-01")
        living = sample.units.scan().filter(pl.col("stav").is_null()).select("id").collect()
        sample.file(living.head(5), year=2025)
        sample.correct(sample.statements.ids(limit=5))
        sample.delete(living.tail(1))
    return register


def listings_of_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the folders of runs that are listed from now on, once for each look for a newer."""
    listings: list[str] = []

    def listed(path: str | Path = ".") -> list[str]:
        listings.extend([str(path)] if Path(path).name == "runs" else [])
        return whole(path)

    whole = os.listdir
    monkeypatch.setattr(os, "listdir", listed)
    return listings


def sealed(path: Path, **changes: Any) -> None:
    """Change what a run says, with the sum that fits."""
    whole = path.read_bytes()
    text = json.dumps({**json.loads(whole)["content"], **changes}).encode()
    sum_of_it = hashlib.sha256(text).hexdigest()
    path.write_bytes(b'{"sha256": "' + sum_of_it.encode() + b'", "content":\n' + text + b"\n}\n")
