"""Records fetched in batches and committed: one that cannot be had delays itself alone.

An outage ends the fetching; what came before it is committed.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from time import monotonic
from typing import Any, Final, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.client.collections.outage import DOUBTFUL, settled
from finstat_kit.client.register import Register
from finstat_kit.errors import (
    BadRequest,
    NotFound,
    ProtocolError,
    RegisterError,
    RegisterUnavailable,
)
from finstat_kit.mirror.state import body_of, lacking_of
from finstat_kit.mirror.storage.cells import STORED, joined, split
from finstat_kit.mirror.storage.files import legible
from finstat_kit.mirror.storage.folder import TEMPLATES
from finstat_kit.mirror.storage.versions import (
    FILLED,
    NAMED,
    OWNED,
    RECORD,
    REPORTS_OF,
    UNCHANGED,
    UNREADABLE,
    Ints,
    answers_of,
    digests,
    ids_named,
    newest,
    of_ids,
    places_in,
    rows_of,
    schema_of,
)
from finstat_kit.mirror.storage.writer import Writer
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import forms, requests
from finstat_kit.protocol.forms import Form
from finstat_kit.protocol.records import KINDS, Kind, Record
from finstat_kit.protocol.requests import Request
from finstat_kit.transport.base import Stopped
from finstat_kit.transport.threads import in_order

BATCH_OF_CONTENTS: Final = 2_000  # records per commit: a report is of 10 kB
_VALID: Final = timedelta(days=30)  # for which a template is not requested again
_BATCH_SECONDS: Final = 60  # of requests at the register's rate: what a crash can cost
_ITS_FAULT: Final = (ProtocolError, NotFound, BadRequest)  # of one record, and of no other

Ids = TypeVar("Ids", Sequence[int], NDArray[np.int64])

# An id with its record, or with the reason why it could not be read.
Fetched = tuple[int, Record | str]


REPORT: Final = pl.Schema(
    {
        "list": pl.String(),
        "window": pl.Date(),
        "new": pl.Int64(),
        "changed": pl.Int64(),
        "gone": pl.Int64(),
        "unreadable": pl.Int64(),
        "requests": pl.Int64(),
        "seconds": pl.Float64(),
    }
)


class Report:
    """What a sync did, list by list.

    Args:
        register: The register.
    """

    def __init__(self, register: Register) -> None:
        self._register = register
        self._rows: dict[str, dict[str, Any]] = {}

    def row(self, name: str, window: date | None) -> dict[str, Any]:
        """Return the row of a list, whose numbers are added to."""
        zeros = dict.fromkeys(REPORT.names()[2:], 0)
        return self._rows.setdefault(name, {"list": name, "window": window, **zeros})

    @contextlib.contextmanager
    def measured(self, row: dict[str, Any]) -> Iterator[None]:
        """Count the requests and the seconds of a block."""
        before, began = self._register.stats.requests, monotonic()
        try:
            yield
        finally:
            row["requests"] += self._register.stats.requests - before
            row["seconds"] += monotonic() - began

    def frame(self) -> pl.DataFrame:
        """Return all rows."""
        return pl.DataFrame(list(self._rows.values()), schema=REPORT)


class OutOfTimeError(Exception):
    """The budget of a sync is spent: what was fetched is committed, the next sync resumes."""


class Budget:
    """The time that a sync may take; None is any."""

    def __init__(self, register: Register, seconds: float | None) -> None:
        self._exchange = register._session.exchange
        self._end = math.inf if seconds is None else self._exchange.clock() + seconds

    @contextlib.contextmanager
    def holds(self) -> Iterator[None]:
        """Cut requests to the time that is left; what is over ends the block without an error."""
        before, self._exchange.end = self._exchange.end, self._end
        try:
            yield
        except (OutOfTimeError, Stopped):
            pass
        finally:
            self._exchange.end = before

    def check(self) -> None:
        """Raise OutOfTimeError when the time is over; between two batches."""
        if self._exchange.clock() >= self._end:
            raise OutOfTimeError


@dataclass
class Fetcher:
    """Fetches the records of one kind.

    Args:
        register: The register.
        kind: Of the records.
        budget: The time it may take.
        readable: The id of a record that was read before, if there is one.
        came: Called with each record that could be read: what else it takes to keep it is requested
            then, while there is time.
    """

    register: Register
    kind: Kind[Record]
    budget: Budget
    readable: int | None
    came: Callable[[Record], object] = lambda record: None

    def batches(self, ids: Ids, most: int) -> Iterator[Ids]:
        """Yield ids in batches of a minute of requests, *most* at the most, within the budget."""
        rate = math.inf if self.register.rate is None else self.register.rate
        size = int(min(max(rate * _BATCH_SECONDS, 1), most))
        for start in range(0, len(ids), size):
            self.budget.check()
            yield ids[start : start + size]

    def fetch(
        self,
        ids: Sequence[int],
        advance: Advance,
        commit: Callable[[list[Fetched]], None],
        *,
        moves: bool,
    ) -> None:
        """Fetch a batch and commit it, also the records before an error.

        Args:
            ids: In the order in which they are fetched.
            advance: Called once per record.
            commit: Called once, with what was fetched.
            moves: Whether failures may be an outage; records that failed before, and fail again,
                do not indicate one.

        Raises:
            RegisterError: The register is down.
            Stopped: The budget is spent.
        """
        session, fetched = self.register._session, list[Fetched]()

        def fetch(id_: int, stop: threading.Event) -> Record | RegisterError:
            try:
                return session.exchange.get(requests.record(self.kind, id_), stop)
            except (*_ITS_FAULT, *DOUBTFUL) as error:
                return error

        with contextlib.ExitStack() as ending:
            ending.callback(lambda: commit(fetched))
            replies = in_order(ids, fetch, self.register.connections)
            ending.enter_context(contextlib.closing(replies))
            outcomes = (
                settled(replies, session, self.kind, ids, self.readable) if moves else replies
            )
            for id_, record in outcomes:
                advance(1)
                if isinstance(record, RegisterUnavailable) and record.blocked:
                    raise record
                if isinstance(record, RegisterError):
                    fetched.append((id_, record.message))
                else:
                    self.came(record)
                    fetched.append((id_, record))
                    self.readable = id_


def readable_in(stands: pl.DataFrame) -> int | None:
    """Return the id of a record that is held, None where none is; see `versions.standing`."""
    ids = stands.filter("listed", "readable", ~pl.col("lacking"))["id"]
    return None if ids.is_empty() else int(ids[0])


class Templates:
    """The templates of kept reports, each requested at most once per sync, and parsed if needed.

    Args:
        register: The register.
        writer: Of the run.
        anew: Whether those that are kept are requested again, however old they are.
    """

    def __init__(self, register: Register, writer: Writer, *, anew: bool) -> None:
        self._register = register
        self._writer = writer
        self._anew = anew
        self._kept: set[int] = set()
        self._forms: dict[int, Form | None] = {}
        self._requested: set[int] = set()
        self._refused: dict[int, str] = {}  # not to be had in this sync, and why

    def complete(self) -> None:
        """Fetch the templates that kept reports lack, and those that the register may have changed.

        The cells of reports whose template was not known, or has other tables now, are placed anew.
        """
        writer, is_record = self._writer, pl.col("kind") == RECORD
        with legible(writer.path):
            kept = newest(writer.scan("templates").select("id", "version", "seen").collect())
            reports = writer.scan("reports").filter(is_record)
            used = reports.select(pl.col("idSablony").unique().drop_nulls()).collect()["idSablony"]
        self._kept = {*kept["id"]}
        is_old = pl.lit(self._anew) | (pl.col("seen") <= writer.today - _VALID)
        due = {*used} - self._kept | {*used} & {*kept.filter(is_old)["id"]}
        before = {template: self._layout(template) for template in due}
        self.fetch(due)
        moved = [t for t in due if self._layout(t) not in (None, before[t])]
        unplaced = [t for t in moved if before[t] is None]
        if unplaced:  # but for those whose template alone was lost
            with legible(writer.path):
                of_these = pl.col("template").is_in(unplaced) & pl.col("row").is_not_null()
                cells = writer.scan("cells").filter(of_these)
                placed = cells.select(pl.col("template").unique()).collect()["template"]
            moved = [template for template in moved if template not in placed]
        if moved:
            self._place_anew(moved)

    def fetch(self, templates: Iterable[int]) -> None:
        """Request templates, each once."""
        bodies: dict[int, str] = {}
        for template in sorted(set(templates) - self._requested):
            self._requested.add(template)
            try:
                exchange = self._register._session.exchange
                bodies[template], self._forms[template] = exchange.get(_with_body(template))
            except RegisterError as error:
                if template not in self._kept and not isinstance(error, NotFound):
                    self._refused[template] = error.message
        if not bodies:
            return
        rows = pl.DataFrame({"id": list(bodies), "body": list(bodies.values())}).with_columns(
            version=pl.lit(self._writer.next("templates")), seen=pl.lit(self._writer.today)
        )
        self._writer.append({"templates": rows.select(TEMPLATES.names()).cast(TEMPLATES)})
        self._kept |= bodies.keys()

    def fetch_of(self, report: Record) -> None:
        """Request the template of a report, if it is not kept."""
        template = getattr(report, "idSablony", None)
        if template and template not in self._kept:
            self.fetch([template])

    def with_form(self, reports: list[Fetched]) -> list[Fetched]:
        """Return reports; those whose template is not to be had are unreadable.

        Cells are written once, each with its place in the template.
        """
        template_of = {id_: getattr(record, "idSablony", None) or 0 for id_, record in reports}
        refusals: dict[int, Record | str] = {
            template: f"template {template}: {reason}" for template, reason in self._refused.items()
        }
        return [(id_, refusals.get(template_of[id_], record)) for id_, record in reports]

    def form(self, template: int) -> Form | None:
        """Return the form by which cells are read, None where the register has none."""
        if form := forms.shipped(template):
            return form
        if template not in self._forms:
            with legible(self._writer.path):
                body = body_of(self._writer.scan("templates"), template)
            self._forms[template] = (
                None if body is None else forms.parse_template(body.encode(), template)
            )
        return self._forms[template]

    def _layout(self, template: int) -> list[tuple[int, int]] | None:
        """Return the columns and cells of each table of a template, by which cells are placed."""
        form = self.form(template)
        return None if form is None else [(len(t.columns), t.cells) for t in form.tables]

    def _place_anew(self, templates: list[int]) -> None:
        """Write the held reports of some templates again, as new versions with the same content."""
        writer = self._writer
        held = writer.standing("reports").select("id", version="same_as").drop_nulls()
        with legible(writer.path):
            of_these = pl.col("idSablony").is_in(templates)
            reports = writer.scan("reports").filter(of_these, kind=RECORD)
            rows = reports.join(held.lazy(), on=["id", "version"], how="semi").collect()
        for batch in rows.sort("id").iter_slices(BATCH_OF_CONTENTS):
            with legible(writer.path):
                own = writer.scan("cells").filter(of_ids("report_id", batch["id"])).collect()
            version = writer.next("reports")
            records, cells = split(joined(batch, own), version, self.form)
            again = batch.with_columns(records[FILLED], version=pl.lit(version, pl.Int64))
            writer.append({"cells": cells, "reports": again})


def _with_body(template: int) -> Request[tuple[str, Form]]:
    """Return the request of a template that gives its body beside it."""
    request = requests.template(template)

    def read(body: bytes) -> tuple[str, Form]:
        form = request.read(body)  # first: other bytes than JSON need not be UTF-8
        return body.decode(), form

    return Request(request.path, read, request.parameters, request.cap)


def commit_answers(
    writer: Writer,
    name: str,
    fetched: list[Fetched],
    stands: pl.DataFrame,
    counts: dict[str, Any],
    templates: Templates | None = None,
) -> pl.Series:
    """Commit the records of a batch.

    Args:
        writer: Of the run.
        name: Of the collection.
        fetched: Ids with their records or problems.
        stands: What the log said of each id before; see `versions.standing`.
        counts: New, changed and gone records, which are added to.
        templates: Of reports, fetched before.

    Returns:
        The ids of those that could be read.
    """
    problems = [(id_, problem[:200]) for id_, problem in fetched if isinstance(problem, str)]
    records = KINDS[name].frame([record for _, record in fetched if not isinstance(record, str)])
    version, cells = writer.next(name), pl.DataFrame(schema=STORED)
    if templates is not None and name == "reports":
        records, cells = split(records, version, templates.form)
    answers = answers_of(records)
    schema = {"id": pl.Int64, "problem": pl.String}
    unread = pl.DataFrame(problems, schema=schema, orient="row")
    unread = unread.with_columns(digests(unread["problem"]))
    answers, unread = _with_former(answers, stands), _with_former(unread, stands)
    is_unchanged = answers["equal"] & answers["readable"].fill_null(False)
    # What was named is to be answered; of units only a full run names all.
    if name == "units" and not writer.walk.full:
        unchanged = answers.clear()
        unread = unread.filter(~unread["equal"] | unread["readable"].fill_null(True))
    else:
        unchanged = answers.filter(is_unchanged)
    news = answers.filter(~is_unchanged)
    columns = [n for n in schema_of(name) if n in news.columns and n != "same_as"]
    rows = [
        (RECORD, news.select(columns)),
        (UNCHANGED, unchanged.select("id", "gone", "same_as")),
        (UNREADABLE, unread.select("id", "problem", "digest")),
    ]
    frames = [
        rows_of(name, frame, kind, version, writer.today) for kind, frame in rows if len(frame)
    ]
    if not frames:
        return answers["id"]
    own = cells.filter(pl.col("report_id").is_in(news["id"].implode()))
    writer.append({"cells": own, name: pl.concat(frames)})
    is_known = news["known"].fill_null(value=False)
    is_gone = news["gone"].is_not_null()
    counts["gone"] += int(is_gone.sum())
    counts["changed"] += int((is_known & ~is_gone).sum())
    counts["new"] += int((~is_known & ~is_gone).sum())
    return answers["id"]


def _with_former(rows: pl.DataFrame, stands: pl.DataFrame) -> pl.DataFrame:
    """Add what stood of each id before, and whether its content is ``equal``."""
    # A join would look at all that stands, batch by batch.
    at = pl.Series(places_in(stands["id"].to_numpy(), rows["id"].to_numpy()))
    columns = ("known", "listed", "readable", "same_as", pl.col("digest").alias("former"))
    former = stands.select(columns).lazy().select(pl.all().gather(at.set(at < 0, None)))
    equal = pl.col("listed") & (pl.col("digest") == pl.col("former"))
    return rows.hstack(former.collect()).with_columns(equal=equal.fill_null(value=False))


class Contents:
    """The lacking records of the kept collections, as they become fewer.

    Args:
        register: The register to copy.
        writer: Of a run that is done.
        templates: Of reports.
        budget: The time it may take.
        report: Of the sync.
        progress: As of `Mirror.sync`.
    """

    def __init__(
        self,
        register: Register,
        writer: Writer,
        templates: Templates,
        budget: Budget,
        report: Report,
        progress: bool | None,
    ) -> None:
        self._register = register
        self._writer = writer
        self._templates = templates
        self._progress = progress
        self._budget = budget
        self._fetchers: dict[str, Fetcher] = {}
        self._report = report
        self._rows = {n: report.row(f"{n} records", writer.walk.since) for n in writer.kept}
        self._stands: dict[str, pl.DataFrame] = {}
        self._left: dict[str, Ints] = {}  # ascending, those that failed before apart
        self._failed: dict[str, set[int]] = {n: set() for n in writer.kept}
        self._named: list[int] = []  # reports, by the statements fetched last

    def fetch(self) -> None:
        """Fetch until nothing is lacking: the newest statements first, with their reports."""
        names = self._writer.kept
        if "reports" in names:
            self._templates.complete()
        for name in names:
            self._look(name)
        total = sum(len(self._wanted(name)) for name in names)
        watched = self._register._session.watched
        with bar("records", total, watched=watched, progress=self._progress) as advance:
            for name in names:
                again = np.array(sorted(self._failed[name], reverse=True), dtype=np.int64)
                self._fill(name, again, advance, moves=False)
            if {"statements", "reports"} <= set(names):
                self._fill("reports", self._left_of("reports", ["statements"]), advance)
            # The reports last: statements and annual reports name them.
            for name in sorted(names, key=lambda name: name == "reports"):
                self._fill(name, self._wanted(name), advance)

    def _look(self, name: str) -> None:
        """Note what is lacking of a collection."""
        self._stands[name] = stands = self._writer.standing(name)
        came = (self._templates.fetch_of,) if name == "reports" else ()
        self._fetchers[name] = Fetcher(
            self._register, KINDS[name], self._budget, readable_in(stands), *came
        )
        lacking = lacking_of(stands)
        only = self._writer.only
        if only is not None and name != "reports":  # their statements will name these
            own = self._ids_in(["units"], OWNED[name], of_ids("id", only))
            lacking = lacking.filter(pl.col("id").is_in(own.implode()))
        self._left[name] = lacking.filter(~pl.col("unreadable"))["id"].to_numpy()
        self._failed[name] = set(lacking.filter("unreadable")["id"])
        self._rows[name]["unreadable"] = len(self._failed[name])

    def _fill(self, name: str, ids: Ints, advance: Advance, *, moves: bool = True) -> None:
        """Fetch records of a collection, those of statements each batch with its reports."""
        fetcher = self._fetchers[name]

        def commit(fetched: list[Fetched]) -> None:
            if fetched:
                self._commit(name, fetched)

        for batch in fetcher.batches(ids, BATCH_OF_CONTENTS):
            with self._report.measured(self._rows[name]):
                fetcher.fetch([int(id_) for id_ in batch], advance, commit, moves=moves)
            if name == "statements" and moves and self._named:
                named, self._named = np.array(self._named, dtype=np.int64), []
                self._fill("reports", self._among("reports", named), advance)

    def _commit(self, name: str, fetched: list[Fetched]) -> None:
        writer = self._writer
        if name == "reports":
            fetched = self._templates.with_form(fetched)
        elif "reports" in self._left:
            named = [
                id_ for _, record in fetched for id_ in getattr(record, REPORTS_OF, None) or ()
            ]
            if name == "statements":
                self._named += named
            if writer.about.since is None:
                self._name_reports(named)
        stands, counts = self._stands[name], self._rows[name]
        read = commit_answers(writer, name, fetched, stands, counts, self._templates)
        ids = {id_ for id_, _ in fetched}
        self._failed[name] = (self._failed[name] - ids) | (ids - set(read))
        counts["unreadable"] = len(self._failed[name])
        self._left[name] = np.setdiff1d(self._left[name], np.array(sorted(ids), dtype=np.int64))
        writer.show_when_due()

    def _name_reports(self, ids: list[int]) -> None:
        """Write down the reports of records that no list has named: they are to be fetched."""
        stands, named = self._stands["reports"], np.unique(np.array(ids, dtype=np.int64))
        new = pl.DataFrame({"id": named[places_in(stands["id"].to_numpy(), named) < 0]})
        if new.is_empty():
            return
        self._writer.append_ids("reports", new, NAMED)
        self._stands["reports"] = pl.concat([stands, new], how="diagonal").sort("id")
        self._left["reports"] = np.union1d(self._left["reports"], new["id"].to_numpy())

    def _wanted(self, name: str) -> Ints:
        """Return what is left of a collection, as far as it is wanted, the highest first."""
        if name != "reports" or self._writer.only is None:
            return self._left[name][::-1]
        return self._left_of(name, list(OWNED))

    def _left_of(self, name: str, owners: Sequence[str]) -> Ints:
        """Return what is left of the reports that some collections name, the highest first."""
        return self._among(name, self._ids_in(owners, REPORTS_OF).to_numpy())

    def _among(self, name: str, ids: Ints) -> Ints:
        """Return which of some ids are left, the highest first."""
        return np.intersect1d(self._left[name], ids)[::-1]

    def _ids_in(self, names: Sequence[str], column: str, where: pl.Expr | None = None) -> pl.Series:
        writer = self._writer
        with legible(writer.path):
            rows = [writer.scan(name) for name in names]
            return ids_named([r if where is None else r.filter(where) for r in rows], column)
