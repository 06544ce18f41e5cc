"""A register of units whose statements a test makes up, and histories drawn at random."""

from __future__ import annotations

import calendar
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any
from urllib.parse import parse_qs

import polars as pl

import finstat_kit as fk
from finstat_kit.protocol.wire import INVENTED, Reply
from tests.support.registers import Watched

_LISTS = {"uctovne-zavierky": "statements", "uctovne-vykazy": "reports"}
_RECORDS = {"uctovna-zavierka": "statements", "uctovny-vykaz": "reports"}
_TODAY = date(2026, 6, 30)  # the sample's day


@dataclass
class Filed:
    """A statement: its period, when it was filed, and what its record has beside.

    ``fields`` replaces fields of the record, None leaves one out; ``entered`` is the day of its id.
    """

    period_from: str
    period_to: str
    filed: str | None
    fields: Mapping[str, Any] | None = None
    entered: date = date.min


@cache
def _report() -> dict[str, Any]:
    """Return the body of a report of the sample, on form 699."""
    sample = fk.sample(10)
    reports = sample.reports.scan().filter(pl.col("idSablony") == 699).head(1).collect()
    body: dict[str, Any] = json.loads(
        sample._answer("GET", "/api/uctovny-vykaz", f"id={reports['id'][0]}").body
    )
    return body


class Histories(Watched):
    """The first units of a sample, with the statements of a test in the place of their own.

    Args:
        histories: The statements of each unit, in the order of their ids.
        units: Fields of the records of units, by their place.
        ordered: Whether ids follow the days on which all statements were entered; else those of
            each unit are as given.
    """

    def __init__(
        self,
        histories: Sequence[Sequence[Filed]],
        units: Mapping[int, Mapping[str, Any]] | None = None,
        *,
        ordered: bool = False,
    ) -> None:
        sample = fk.sample(400)
        living = sample.units.scan().filter(pl.col("stav").is_null()).select("id").head(60)
        self.unit_ids = living.collect()["id"].head(len(histories)).to_list()
        statements = [(unit, filed) for unit, each in enumerate(histories) for filed in each]
        if ordered:
            statements.sort(key=lambda pair: pair[1].entered)
        self._bodies: dict[str, dict[int, Any]] = {"statements": {}, "reports": {}}
        listed: dict[int, list[int]] = {id_: [] for id_ in self.unit_ids}
        for number, (unit, filed) in enumerate(statements):
            id_ = 1_000 + 7 * number
            listed[self.unit_ids[unit]].append(id_)
            record = {
                "id": id_, "idUJ": self.unit_ids[unit], "obdobieOd": filed.period_from,
                "obdobieDo": filed.period_to, "datumPodania": filed.filed, "typ": "Riadna",
                "konsolidovana": False, "idUctovnychVykazov": [id_ + 1],
                "datumPoslednejUpravy": "2026-06-01",
                **(filed.fields or {}),
            }  # fmt: skip
            if "stav" in record:
                record = {k: record[k] for k in ("id", "stav", "datumPoslednejUpravy")}
            report = _report() | {"id": id_ + 1, "idUctovnejZavierky": id_}
            self._bodies["statements"][id_] = {k: v for k, v in record.items() if v is not None}
            self._bodies["reports"][id_ + 1] = report
        self._units = {
            id_: {
                "idUctovnychZavierok": random.Random(id_).sample(ids, len(ids)),
                **((units or {}).get(place) or {}),
            }
            for place, (id_, ids) in enumerate(listed.items())
        }
        super().__init__(sample)
        self.instead = self._own_answer

    @property
    def records(self) -> pl.DataFrame:  # type: ignore[override]
        """The records of the units."""
        return self.units.get(self.unit_ids)

    def statement_requests(self) -> int:
        """Return how many statements were requested so far."""
        return sum("uctovna-zavierka" in target for target in self.asked)

    def _own_answer(self, path: str, query: str) -> Reply:
        name = path.removeprefix("/api/").removeprefix("zostavajuce-id/")
        options = parse_qs(query)
        if name in _LISTS:
            after = int(options.get("pokracovat-za-id", ["0"])[0])
            ids = [id_ for id_ in self._bodies[_LISTS[name]] if id_ > after]
            if "zostavajuce" in path:
                return _reply({"pocetZostavajucichId": len(ids)})
            size = int(options.get("max-zaznamov", ["1000"])[0])
            return _reply({"id": ids[:size], "existujeDalsieId": len(ids) > size})
        if name in _RECORDS:
            return _reply(self._bodies[_RECORDS[name]][int(options["id"][0])])
        if name == "uctovna-jednotka":
            id_ = int(options["id"][0])
            body = json.loads(self.sample._answer("GET", path, query).body)
            body.pop("idUctovnychZavierok", None)
            changed = body | self._units.get(id_, {})
            return _reply({k: v for k, v in changed.items() if v not in (None, [])})
        reply = self.sample._answer("GET", path, query)
        return reply._replace(headers={**reply.headers, INVENTED: "invented histories"})


def _reply(body: object) -> Reply:
    return Reply(200, {INVENTED: "invented histories"}, json.dumps(body).encode())


def history(luck: random.Random) -> list[Filed]:
    """Draw the statements of a unit.

    Periods of 3 to 24 months, changes of the fiscal year, gaps, several of one year; filed late and
    corrected; some foreign, without a day or a period, deleted, not public or interim. Each is
    entered up to 90 days after it was filed.
    """
    first = 12 * luck.randint(2009, 2021) + luck.choice([0, 0, 0, 3, 6, luck.randrange(12)])
    statements: list[Filed] = []
    while first < 12 * 2026:
        months = 12 if luck.random() < 0.8 else luck.randint(3, 24)
        if luck.random() > 0.1:  # else a gap
            statements += _of_period(luck, first, first + months - 1)
        first += months
    return [filed for filed in statements if filed.entered <= _TODAY]


def _of_period(luck: random.Random, first: int, last: int) -> list[Filed]:
    end = date(last // 12, last % 12 + 1, calendar.monthrange(last // 12, last % 12 + 1)[1])
    filed = end + timedelta(luck.choice([luck.randint(-9, 20), luck.randint(60, 200)]))
    if luck.random() < 0.1:
        filed = end + timedelta(luck.randint(200, 1_500))
    statements = [_statement(luck, first, last, filed)]
    while luck.random() < 0.15:
        filed += timedelta(luck.randint(0, 700))
        statements.append(_statement(luck, first, last, filed))
    return statements


def _statement(luck: random.Random, first: int, last: int, filed: date) -> Filed:
    entered = filed + timedelta(luck.choice([0, 0, 1, luck.randint(0, 90)]))
    fields: list[dict[str, Any]] = [
        {"typ": "Priebežná"}, {"typ": "Mimoriadna"}, {"konsolidovana": True}, {"idUJ": 7},
        {"datumPodania": None}, {"obdobieDo": None}, {"obdobieDo": "9999-12"},
        {"datumPodania": "2001-01-01"}, {"stav": "ZMAZANÉ"}, {"stav": "NEVEREJNÁ"},
    ]  # fmt: skip
    odd = luck.choice(fields) if luck.random() < 0.15 else None
    return Filed(
        f"{first // 12}-{first % 12 + 1:02}", f"{last // 12}-{last % 12 + 1:02}",
        filed.isoformat(), odd, entered,
    )  # fmt: skip
