"""What tests of the pickers share: a register, its units, and what watches a picker."""

from __future__ import annotations

import json
import threading
from functools import cache
from pathlib import Path

import polars as pl
import traitlets

import finstat_kit as fk
from finstat_kit.client.sample import Sample
from tests.support.registers import service

SAMPLE, SERVICE = fk.sample(), service(0)


@cache
def first_units() -> pl.DataFrame:
    return SAMPLE.units.get(SAMPLE.units.ids(limit=2_000))


PLACES = SAMPLE.locations()


CODES = PLACES["code"].to_list()


WAIT = 20  # seconds, far more than anything here takes


def codelists(
    folder: Path, *, regions: object = None, districts: object = None, municipalities: object = None
) -> Sample:
    given = {"kraje": regions, "okresy": districts, "sidla": municipalities}
    for name, rows in given.items():
        entries = [
            {"kod": code, "nazov": {"sk": sk, "en": en}, "nadradenaLokacia": parent}
            for code, sk, en, parent in rows or ()  # type: ignore[attr-defined]
        ]
        (folder / f"{name}.json").write_text(json.dumps({"lokacie": entries}), encoding="utf-8")
    return fk.sample(units=10, codelists=folder)


class Counting:
    """Counts the changes of a trait."""

    def __init__(self, widget: traitlets.HasTraits, name: str) -> None:
        self.seen: list[object] = []
        widget.observe(lambda change: self.seen.append(change["new"]), name)

    def of(self, action: object) -> int:
        before = len(self.seen)
        action()  # type: ignore[operator]
        return len(self.seen) - before


def wait_for(line: traitlets.HasTraits, text: str) -> None:
    """Wait until a line of text says something."""
    said = threading.Event()

    def look(_: object = None) -> None:
        if text in line.value:  # type: ignore[attr-defined]
            said.set()

    line.observe(look, "value")
    look()
    assert said.wait(WAIT), line.value  # type: ignore[attr-defined]


def counted(n: int) -> bytes:
    return b'{"pocetZostavajucichId": %d}' % n
