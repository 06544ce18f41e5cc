"""The records of statements, reports and annual reports: which are lacking, and their fetching.

Each list keeps a row per id that a change list names, so that its newest version names what has to
be fetched; each record keeps that version as ``listed``. A record is held when nothing newer names
it. So there is no cursor, and whatever ends a sync, the next one finds what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from finstat_kit.client.register import Register
from finstat_kit.errors import Interrupted, RegisterError, UsageError
from finstat_kit.mirror import templates
from finstat_kit.mirror.fetching import Budget, Fetched, Fetcher
from finstat_kit.mirror.some_units import REPORTS_OF
from finstat_kit.mirror.stored_cells import DIGEST, LENGTHS, split
from finstat_kit.mirror.tables import MANY_FILES
from finstat_kit.mirror.versions import META, MISSING, Ints, Row, latest, legible, state_of
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import wire
from finstat_kit.protocol.records.decode import KINDS
from finstat_kit.protocol.records.fields import Record

if TYPE_CHECKING:
    from finstat_kit.mirror.held import Held

LISTED: Final = "listed"  # version of the list that named the record when it was fetched
_BATCH: Final = 2_000  # records that are in memory at a time; a report is of 10 kB


def schema_of(name: str) -> pl.Schema:
    """Return the columns of the log of records of a collection."""
    columns = dict(KINDS[name].schema)
    if name == "reports":
        del columns[wire.TABLES]
        columns |= {LENGTHS: pl.List(pl.Int32()), DIGEST: pl.Int64()}
    return pl.Schema({**columns, LISTED: pl.Int64(), **META})


def newest_listed(log: pl.LazyFrame) -> pl.DataFrame:
    """Return the ids that a list names, each with the newest version that names it, ascending."""
    keys = log.select("id", "version", pl.col("gone").eq_missing(pl.lit(MISSING)).alias("missing"))
    return latest(keys.collect()).filter(~pl.col("missing")).select("id", "version")


def held_records(log: pl.LazyFrame) -> pl.DataFrame:
    """Return the ids with a record, each with what its newest row answers, ascending."""
    keys = log.select("id", "version", LISTED, pl.col("problem").is_null().alias("readable"))
    return latest(keys.collect()).drop("version")


def lacking(listed: pl.DataFrame, held: pl.DataFrame) -> pl.DataFrame:
    """Return the listed ids without a current record.

    Args:
        listed: Result of `newest_listed`.
        held: Result of `held_records`.

    Returns:
        ``id``, ``version`` (of the list), ``readable`` (null for an id never fetched), by id.
    """
    return (
        listed.join(held, on="id", how="left", maintain_order="left")
        .filter(
            pl.col(LISTED).is_null() | (pl.col(LISTED) < pl.col("version")) | ~pl.col("readable")
        )
        .select("id", "version", "readable")
    )


def with_meta(
    records: pl.DataFrame, problems: Sequence[str | None], version: int, seen: date
) -> pl.DataFrame:
    """Return the frame of a batch: records, and what a log says of each.

    Args:
        records: With the columns of the log but for `META`.
        problems: Why a record could not be read.
        version: Of the batch.
        seen: The register's day.
    """
    gone, digests = [], []
    for content, problem in zip(records.iter_rows(named=True), problems, strict=True):
        filled = {name: value for name, value in content.items() if value is not None}
        row = Row(filled, state_of(filled), problem)
        gone.append(row.gone)
        digests.append(row.digest(version, seen))
    meta: dict[str, list[object]] = {
        "version": [version] * len(gone), "seen": [seen] * len(gone), "gone": list(gone),
        "problem": list(problems), "digest": list(digests),
    }  # fmt: skip
    return records.with_columns(pl.Series(n, v, dtype=META[n]) for n, v in meta.items())


def places_in(ascending: Ints, ids: Ints) -> Ints:
    """Return the place of each id, -1 where it is not among them."""
    at = np.searchsorted(ascending, ids)
    found = at < len(ascending)
    found[found] = ascending[at[found]] == ids[found]
    return np.where(found, at, -1)


class Lack:
    """The lacking records of one collection, as they become fewer."""

    def __init__(self, found: pl.DataFrame) -> None:
        self.ids: Ints = found["id"].to_numpy()
        self._versions: Ints = found["version"].to_numpy()
        self._failed: set[int] = set(found.filter(~pl.col("readable"))["id"])
        self._done = np.zeros(len(self.ids), dtype=np.bool_)

    def left(self, *, failed: bool = False) -> Ints:
        """Return what is left, the highest id first; records that failed before come apart."""
        ids: Ints = self.ids[~self._done][::-1]
        return ids[np.isin(ids, list(self._failed), invert=not failed)]

    def among(self, ids: Ints) -> Ints:
        """Return which of some ids are left, the highest first; none that failed before."""
        ids = np.unique(ids)[::-1]
        ids = ids[places_in(self.ids, ids) >= 0]
        ids = ids[~self._done[np.searchsorted(self.ids, ids)]]
        return ids[np.isin(ids, list(self._failed), invert=True)]

    def versions(self, ids: Sequence[int]) -> Ints:
        """Return the version of the list that named each id."""
        found: Ints = self._versions[np.searchsorted(self.ids, ids)]
        return found

    def fetched(self, ids: Sequence[int], failed: Sequence[int]) -> None:
        """Note which ids were fetched, and which could not be read."""
        self._done[np.searchsorted(self.ids, ids)] = True
        self._failed.update(failed)


class Filling:
    """Fetches what is lacking: from the highest statement id down, each with its reports."""

    def __init__(
        self,
        held: Held,
        names: Sequence[str],
        templates: Path,
        register: Register,
        budget: Budget,
        least: Mapping[str, int],
        only: pl.Series | None,
    ) -> None:
        self._held = held
        self._used = held.used_templates()
        self._only = only
        self._register = register
        self._templates = templates
        self._tables = {name: held.contents[name] for name in names}
        self._cells = held.cells
        self._lack: dict[str, Lack] = {}
        self._counts: dict[str, dict[str, int]] = {}
        self._spent: dict[str, tuple[int, float]] = {}
        self._known: dict[str, Ints] = {}  # ascending
        self._named: list[int] = []  # the reports of statements that were fetched last
        self._versions: dict[str, int] = {}
        self._fetchers: dict[str, Fetcher] = {}
        self._no_template: dict[int, str] = {}  # could not be had in this sync, and why
        for name, table in self._tables.items():
            with legible(held.path):
                # Of some units those reports are wanted that their statements will name.
                whose = None if name == "reports" else only
                self._lack[name] = Lack(held.lacking_of(name, whose)[1])
                self._known[name] = np.sort(held_records(table.scan())["id"].to_numpy())
            self._counts[name] = {"new": 0, "changed": 0, "gone": 0}
            self._spent[name] = 0, 0.0
            # Above all former ones, also where the log was lost.
            self._versions[name] = max(table.state().get("version", 0), least.get(name, 0))
        if "reports" in names:  # also above cells whose records a crash has prevented
            written = self._cells.state().get("version", 0)
            self._versions["reports"] = max(self._versions["reports"], written)
        for name in names:
            self._fetchers[name] = Fetcher(register, KINDS[name], budget)

    def go(self, progress: bool | None) -> None:
        """Fetch until nothing is lacking.

        Raises:
            OutOfTimeError: The budget is spent.
            RegisterError: A request failed; what came before is committed.
        """
        total = sum(len(self._left(name)) for name in self._tables)
        remote = self._register._session.remote
        try:
            templates.renew(self._templates, self._used, self._register, self._no_template)
            with bar("records", total, remote=remote, progress=progress) as advance:
                for name in self._tables:
                    self._fill(name, self._lack[name].left(failed=True), advance, moves=False)
                if {"statements", "reports"} <= self._tables.keys():
                    self._fill("reports", self._owed(), advance)
                # The reports last: statements and annual reports name them.
                for name in sorted(self._tables, key=lambda name: name == "reports"):
                    self._fill(name, self._left(name), advance)
        except RegisterError as error:
            error.partial = error.cursor = None
            error.message += "; everything before it is in the mirror, the next sync() resumes"
            raise
        except KeyboardInterrupt as interrupt:
            raise Interrupted(
                "interrupted while records were fetched; everything before is in the mirror, the "
                "next sync() resumes"
            ) from interrupt
        finally:
            for table in (self._cells, *self._tables.values()):
                table.seal()

    def report(self, window: date) -> Iterator[dict[str, object]]:
        """Yield a row of the report of a sync per collection."""
        for name, counts in self._counts.items():
            unread = len(self._lack[name].left(failed=True))
            requests, seconds = self._spent[name]
            yield {
                "list": f"{name} records", "window": window, **counts, "unreadable": unread,
                "requests": requests, "seconds": seconds,
            }  # fmt: skip

    def _fill(self, name: str, ids: Ints, advance: Advance, *, moves: bool = True) -> None:
        fetcher, began = self._fetchers[name], monotonic()
        before = self._register.stats.requests
        follows = moves and name == "statements" and "reports" in self._tables

        def commit(fetched: list[Fetched], last: int | None) -> None:
            self._commit(name, fetched)

        def spent() -> None:
            requests, seconds = self._spent[name]
            more = self._register.stats.requests - before
            self._spent[name] = requests + more, seconds + monotonic() - began

        try:
            for batch in fetcher.batches(ids, _BATCH):
                fetcher.fetch([int(id_) for id_ in batch], advance, commit, moves=moves)
                if follows:
                    spent()
                    named = np.array(self._named, dtype=np.int64)
                    self._named.clear()
                    self._fill("reports", self._lack["reports"].among(named), advance)
                    before, began = self._register.stats.requests, monotonic()
            commit(fetcher.given_up(), None)
        finally:
            spent()

    def _left(self, name: str) -> Ints:
        """Return what is left of a collection, as far as it is wanted."""
        if name != "reports" or self._only is None:
            return self._lack[name].left()
        with legible(self._held.path):
            owned = self._held.owned(name, self._only)
        return self._lack[name].among(owned.to_numpy())

    def _owed(self) -> Ints:
        """Return the lacking reports of the statements that are held."""
        log = self._tables["statements"].scan()
        with legible(self._held.path):
            owned = log.select(pl.col(REPORTS_OF).explode()).drop_nulls().unique().collect()
        return self._lack["reports"].among(owned[REPORTS_OF].to_numpy())

    def _commit(self, name: str, fetched: list[Fetched]) -> None:
        """Commit the records of a batch."""
        if not fetched:
            return
        table, lack = self._tables[name], self._lack[name]
        if name == "reports":
            fetched = self._with_templates(fetched)
        ids = [id_ for id_, _ in fetched]
        self._versions[name] += 1
        version, kind = self._versions[name], KINDS[name]
        problems = [record[:200] if isinstance(record, str) else None for _, record in fetched]
        records = kind.frame([kind.shape(id=i) if isinstance(r, str) else r for i, r in fetched])
        state = {"version": version}
        if name == "reports":
            records, cells = split(records, version, partial(templates.form_of, self._templates))
            # The cells first: a record without its own would not be whole, cells without a record
            # are nothing.
            self._cells.append(cells, state)
            state["cells"] = self._cells.rows
        if name == "statements":
            self._named += records[REPORTS_OF].explode().drop_nulls().to_list()
        records = records.with_columns(pl.Series(LISTED, lack.versions(ids), dtype=pl.Int64))
        records = records.select(n for n in table.schema if n not in META)
        frame = with_meta(records, problems, version, self._register.today)
        table.append(frame, state)
        if version % MANY_FILES == 0:
            table.tidy()
            self._cells.tidy()
        readable = frame.filter(pl.col("problem").is_null())
        lack.fetched(readable["id"].to_list(), list(set(ids) - set(readable["id"])))
        known = pl.Series(places_in(self._known[name], readable["id"].to_numpy()) >= 0)
        gone = readable["gone"].is_not_null()
        counts = self._counts[name]
        counts["gone"] += int(gone.sum())
        counts["changed"] += int((known & ~gone).sum())
        counts["new"] += int((~known & ~gone).sum())

    def _with_templates(self, fetched: list[Fetched]) -> list[Fetched]:
        """Replace reports whose template could not be fetched by the reason.

        Cells are written once, each with its place in the template.
        """
        of: dict[int, int] = {
            id_: getattr(record, "idSablony", None) or 0 for id_, record in fetched
        }
        used = set(of.values()) - {0}
        templates.renew(self._templates, used, self._register, self._no_template)
        why: dict[int, Record | str] = {
            template: f"template {template}: {reason}"
            for template, reason in self._no_template.items()
        }
        return [(id_, why.get(of[id_], record)) for id_, record in fetched]


def as_collections(contents: object) -> tuple[str, ...]:
    """Return the collections whose records are to be kept.

    Raises:
        UsageError: A name is that of none.
    """
    every = tuple(name for name in wire.LISTS if name != "units")
    if contents is True:
        return every
    if contents is False or contents is None:
        return ()
    if not isinstance(contents, str | Iterable):
        raise UsageError(
            "names no collections",
            argument="contents",
            value=contents,
            cure=f"give True or {list(every)}",
        )
    named = [contents] if isinstance(contents, str) else list(contents)
    for name in named:
        if name not in every:
            raise UsageError(
                f": {name!r} is none of {list(every)}", argument="contents", value=contents
            )
    return tuple(name for name in every if name in named)
