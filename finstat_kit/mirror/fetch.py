"""Records fetched in batches and committed: one that cannot be had delays itself alone.

An outage ends the fetching; what came before it is committed.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import date, timedelta
from time import monotonic
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finstat_kit.client.collections.outage import DOUBTFUL, unless_down
from finstat_kit.client.register import Register
from finstat_kit.errors import (
    BadRequest,
    NotFound,
    ProtocolError,
    RegisterError,
    RegisterUnavailable,
)
from finstat_kit.mirror.state import form_in
from finstat_kit.mirror.storage.cells import STORED, split
from finstat_kit.mirror.storage.files import legible
from finstat_kit.mirror.storage.logs import TEMPLATES
from finstat_kit.mirror.storage.rows import (
    NAMED,
    OWNED,
    RECORD,
    REPORTS_OF,
    UNCHANGED,
    UNREADABLE,
    Ints,
    answers_of,
    is_among,
    newest,
    places_in,
    rows_of,
    schema_of,
)
from finstat_kit.mirror.storage.standing import Standing
from finstat_kit.mirror.storage.writer import Batch, Writer
from finstat_kit.progress import Advance, bar
from finstat_kit.protocol import forms, requests
from finstat_kit.protocol.forms import Form
from finstat_kit.protocol.records import KINDS, Record
from finstat_kit.protocol.requests import Request
from finstat_kit.transport.base import Stopped
from finstat_kit.transport.threads import in_order

_BATCH: Final = 2_000  # records per commit: a report is of 10 kB
_BATCH_OF_UNITS: Final = 10_000
_POINT_EVERY: Final = 3600.0  # seconds, while records come
_VALID: Final = timedelta(days=30)  # for which a template is not requested again
_BATCH_SECONDS: Final = 60  # of requests at the register's rate: what a crash can cost
_ITS_FAULT: Final = (ProtocolError, NotFound, BadRequest)  # of one record, and of no other

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


@dataclass
class Counts:
    """What a sync did with a list, or with the records of a collection."""

    list: str
    window: date | None
    new: int = 0
    changed: int = 0
    gone: int = 0
    unreadable: int = 0
    requests: int = 0
    seconds: float = 0.0


class Report:
    """What a sync did, list by list.

    Args:
        register: The register.
    """

    def __init__(self, register: Register) -> None:
        self._register = register
        self._counts: dict[str, Counts] = {}

    def counts(self, name: str, window: date | None = None) -> Counts:
        """Return the counts of a list, which are added to; the window is that of the first call."""
        return self._counts.setdefault(name, Counts(name, window))

    @contextlib.contextmanager
    def measured(self, counts: Counts) -> Iterator[None]:
        """Count the requests and the seconds of a block."""
        before, began = self._register.stats.requests, monotonic()
        try:
            yield
        finally:
            counts.requests += self._register.stats.requests - before
            counts.seconds += monotonic() - began

    def frame(self) -> pl.DataFrame:
        """Return all counts."""
        return pl.DataFrame([asdict(counts) for counts in self._counts.values()], schema=REPORT)


class Budget:
    """The time that a sync may take; None is any.

    Stopped ends a sync whose time is over: what was fetched is committed, the next one resumes.
    """

    def __init__(self, register: Register, seconds: float | None) -> None:
        self._exchange = register._session.exchange
        self._end = math.inf if seconds is None else self._exchange.clock() + seconds

    @contextlib.contextmanager
    def holds(self) -> Iterator[None]:
        """Cut requests to the time that is left; what is over ends the block without an error."""
        before, self._exchange.end = self._exchange.end, self._end
        try:
            with contextlib.suppress(Stopped):
                yield
        finally:
            self._exchange.end = before

    def check(self) -> None:
        """Raise Stopped when the time is over; between two batches."""
        if self._exchange.clock() >= self._end:
            raise Stopped


@dataclass
class Templates:
    """The templates of kept reports, each requested at most once per sync, and parsed if needed.

    Args:
        register: The register.
        writer: Of the run.
        anew: Whether those that are kept are requested again, however old they are.
    """

    register: Register
    writer: Writer
    anew: bool
    _kept: set[int] = field(default_factory=set)
    _forms: dict[int, Form | None] = field(default_factory=dict)
    _requested: set[int] = field(default_factory=set)
    _refused: dict[int, str] = field(default_factory=dict)  # not to be had in this sync, and why

    def complete(self) -> None:
        """Fetch the templates that kept reports lack, and those that may have changed."""
        writer, is_record = self.writer, pl.col("kind") == RECORD
        with legible(writer.path):
            kept = newest(writer.scan("templates").select("id", "version", "seen").collect())
            reports = writer.scan("reports", names=False).filter(is_record)
            used = reports.select(pl.col("idSablony").unique().drop_nulls()).collect()["idSablony"]
        self._kept = {*kept["id"]}
        is_old = pl.lit(self.anew) | (pl.col("seen") <= writer.today - _VALID)
        self.fetch({*used} - self._kept | {*used} & {*kept.filter(is_old)["id"]})

    def fetch(self, templates: Iterable[int]) -> None:
        """Request templates, each once.

        Reports whose template was not known, or has other tables now, are named with it: they are
        requested again, and their cells placed anew.
        """
        writer, bodies, moved = self.writer, dict[int, str](), list[int]()
        for template in sorted(set(templates) - self._requested):
            self._requested.add(template)
            before = self.layout(template)
            try:
                exchange = self.register._session.exchange
                bodies[template], self._forms[template] = exchange.get(_with_body(template))
            except RegisterError as error:
                if template not in self._kept and not isinstance(error, NotFound):
                    self._refused[template] = error.message
            else:
                moved += [template] * (self.layout(template) != before)
        if not bodies:
            return
        rows = pl.DataFrame({"id": list(bodies), "body": list(bodies.values())}).with_columns(
            version=pl.lit(writer.next("templates")), seen=pl.lit(writer.today)
        )
        batches = [Batch("templates", rows.select(TEMPLATES.names()).cast(TEMPLATES))]
        if moved:
            with legible(writer.path):
                held = writer.scan("reports", names=False).filter(pl.col("idSablony").is_in(moved))
                ids = held.select(pl.col("id").unique()).collect()
            named = rows_of("reports", ids, NAMED, writer.next("reports"), writer.today)
            batches.append(Batch("reports", named, names=True))
        writer.append(*batches)
        self._kept |= bodies.keys()

    def refusal(self, report: Record) -> str | None:
        """Request the template of a report, if it is not kept; return why it is not to be had."""
        template = getattr(report, "idSablony", None)
        if template and template not in self._kept:
            self.fetch([template])
        reason = self._refused.get(template or 0)
        return None if reason is None else f"template {template}: {reason}"

    def form(self, template: int) -> Form | None:
        """Return the form by which cells are read, None where the register has none."""
        if form := forms.shipped(template):
            return form
        if template not in self._forms:
            with legible(self.writer.path):
                self._forms[template] = form_in(self.writer.scan("templates"), template)
        return self._forms[template]

    def layout(self, template: int) -> str | None:
        """Return what cells are placed by, of a template that the package has not."""
        form = None if forms.shipped(template) else self.form(template)
        return None if form is None else str([(len(t.columns), t.cells) for t in form.tables])


def _with_body(template: int) -> Request[tuple[str, Form]]:
    """Return the request of a template that gives its body beside it."""
    request = requests.template(template)

    def read(body: bytes) -> tuple[str, Form]:
        form = request.read(body)  # first: other bytes than JSON need not be UTF-8
        return body.decode(), form

    return Request(request.path, read, request.parameters, request.cap)


def _of(values: NDArray[Any], at: Ints) -> NDArray[Any]:
    """Return the values at some places, 0 where there is none."""
    found = values[np.maximum(at, 0)] if len(values) else np.zeros(len(at), values.dtype)
    return np.where(at >= 0, found, 0).astype(values.dtype)


def _unread(fetched: list[Fetched], stands: Standing) -> pl.DataFrame:
    """Return ``id`` and ``problem`` of what cannot be read since it was last named."""
    rows = [(id_, problem[:200]) for id_, problem in fetched if isinstance(problem, str)]
    schema = {"id": pl.Int64, "problem": pl.String}
    unread = pl.DataFrame(rows, schema=schema, orient="row")
    at = places_in(stands.ids, unread["id"].to_numpy())
    return unread.filter(~_of(stands.is_unreadable, at))


@dataclass
class Records:
    """The lacking records of collections, as they become fewer.

    Args:
        register: The register to copy.
        writer: Of a mirror whose lists are done.
        templates: Of reports.
        budget: The time it may take.
        report: Of the sync.
        progress: As of `Mirror.sync`.
    """

    register: Register
    writer: Writer
    templates: Templates
    budget: Budget
    report: Report
    progress: bool | None
    _stands: dict[str, Standing] = field(default_factory=dict)
    _readable: dict[str, int | None] = field(default_factory=dict)  # ids of records read before
    _left: dict[str, Ints] = field(default_factory=dict)  # ascending
    _unread: dict[str, set[int]] = field(default_factory=dict)
    _named: list[int] = field(default_factory=list)  # reports, by the statements fetched last
    _added: set[int] = field(default_factory=set)  # reports that no list has named

    def __post_init__(self) -> None:
        """Begin the hour after which there is a point."""
        self._session = self.register._session
        self._shown = self._session.exchange.clock()

    @property
    def whole(self) -> list[str]:
        """The collections of which nothing is left that is named, but for what cannot be read."""
        again = self.writer.again
        return [n for n, left in self._left.items() if np.isin(left, again.get(n, ())).all()]

    def fetch(self, *names: str) -> None:
        """Fetch records until none is lacking: the newest statements first, with their reports.

        What could not be read before comes first. An hour after the last point there is one.
        """
        again = {name: np.array(sorted(self._unread[name]), dtype=np.int64) for name in names}
        total = sum(len(again[name]) + len(self._left[name]) for name in names)
        watched, progress = self._session.watched, self.progress
        with bar("records", total, watched=watched, progress=progress) as advance:
            for name in names:
                self._fill(name, again[name], advance, moves=False)
            # The reports last: statements and annual reports name them.
            for name in sorted(names, key=lambda name: name == "reports"):
                self._fill(name, self._left[name], advance)

    def look(self, name: str) -> None:
        """Note what is lacking of a collection."""
        stands = self._stands[name] = self.writer.standing(name)
        again = self.writer.again.get(name, stands.held.clear())
        settled = stands.held.filter(~is_among(stands.held, again))
        self._readable[name] = next(iter(settled.head(1)), None)
        self._left[name] = np.union1d(stands.absent.to_numpy(), again.to_numpy())
        self._unread[name] = {*stands.unread}
        self._counts(name).unreadable = len(self._unread[name])

    def _counts(self, name: str) -> Counts:
        return self.report.counts(name if name == "units" else f"{name} records")

    def _fill(self, name: str, ids: Ints, advance: Advance, *, moves: bool = True) -> None:
        """Fetch records of a collection, those of statements each batch with its reports.

        Batches are of a minute of requests, and within the budget.

        Args:
            name: Of the collection.
            ids: Ascending. Units are fetched so, all others from the newest down.
            advance: Called once per record.
            moves: Whether failures may be an outage; records that failed before, and fail again,
                do not indicate one.

        Raises:
            RegisterError: The register is down; what came before is committed.
            Stopped: The budget is spent.
        """
        ids, most = (ids, _BATCH_OF_UNITS) if name == "units" else (ids[::-1], _BATCH)
        rate = math.inf if self.register.rate is None else self.register.rate
        size = int(min(max(rate * _BATCH_SECONDS, 1), most))
        for start in range(0, len(ids), size):
            self.budget.check()
            with self.report.measured(self._counts(name)):
                self._fetch(name, ids[start : start + size].tolist(), advance, moves=moves)
            if name == "statements" and moves and self._named:
                named, self._named = np.array(self._named, dtype=np.int64), []
                self._fill("reports", np.intersect1d(self._left["reports"], named), advance)

    def _fetch(self, name: str, ids: list[int], advance: Advance, *, moves: bool) -> None:
        """Fetch a batch and commit it, also the records before an error; see `_fill`."""
        kind, fetched = KINDS[name], list[Fetched]()

        def fetch(id_: int, stop: threading.Event) -> Record | RegisterError:
            try:
                return self._session.exchange.get(requests.record(kind, id_), stop)
            except (*_ITS_FAULT, *DOUBTFUL) as error:
                return error

        with contextlib.ExitStack() as ending:
            ending.callback(self._commit, name, fetched)
            replies = in_order(ids, fetch, self.register.connections)
            ending.enter_context(contextlib.closing(replies))
            readable = self._readable[name]
            outcomes = (
                unless_down(replies, self._session, kind, ids, readable) if moves else replies
            )
            for id_, record in outcomes:
                advance(1)
                if isinstance(record, RegisterUnavailable) and record.blocked:
                    raise record
                if isinstance(record, RegisterError):
                    fetched.append((id_, record.message))
                else:
                    # Cells are written once, each with its place in the template, which is
                    # requested while there is time.
                    refusal = self.templates.refusal(record) if name == "reports" else None
                    fetched.append((id_, refusal or record))
                    self._readable[name] = id_

    def _commit(self, name: str, fetched: list[Fetched]) -> None:
        if not fetched:
            return
        writer, counts = self.writer, self._counts(name)
        if name in OWNED and "reports" in self._left:
            named = [
                id_ for _, record in fetched for id_ in getattr(record, REPORTS_OF, None) or ()
            ]
            if name == "statements":
                self._named += named
            self._name_reports(named)
        batches, news = self._answers(name, fetched)
        ids = {id_ for id_, _ in fetched}
        writer.append(*batches)
        is_gone = news["gone"].is_not_null()
        counts.gone += int(is_gone.sum())
        counts.changed += int((news["known"] & ~is_gone).sum())
        counts.new += int((~news["known"] & ~is_gone).sum())
        failed = {id_ for id_, record in fetched if isinstance(record, str)}
        self._unread[name] = (self._unread[name] - ids) | failed
        counts.unreadable = len(self._unread[name])
        self._left[name] = np.setdiff1d(self._left[name], np.array(sorted(ids), dtype=np.int64))
        now = self._session.exchange.clock()
        if name != "units" and now - self._shown >= _POINT_EVERY:
            self._shown = now
            writer.point(self.whole)

    def _answers(self, name: str, fetched: list[Fetched]) -> tuple[list[Batch], pl.DataFrame]:
        """Return what is to be appended of the answers of a batch.

        Returns:
            The batches, and ``id``, ``gone`` and ``known`` of the new contents among them.
        """
        writer, stands = self.writer, self._stands[name]
        records = [record for _, record in fetched if not isinstance(record, str)]
        contents, version = KINDS[name].frame(records), writer.next(name)
        cells = pl.DataFrame(schema=STORED)
        if name == "reports":
            contents, cells = split(contents, version, self.templates.form)
            # What was placed by another template is written again.
            layouts = {
                t: self.templates.layout(t) for t in contents["idSablony"].drop_nulls().unique()
            }
            layout = pl.col("idSablony").replace_strict(
                list(layouts), list(layouts.values()), default=None, return_dtype=pl.String
            )
            contents = contents.with_columns(layout=layout)
        answers = answers_of(contents)
        at = places_in(stands.ids, answers["id"].to_numpy())
        digests = answers["digest"].to_numpy()
        known = _of(stands.content, at) > 0
        # What is listed again after it was missing is a version of its own.
        same = _of(stands.content > stands.gone, at) & (_of(stands.digests, at) == digests)
        answers = answers.with_columns(
            known=known, same_as=_of(stands.content, at).astype(np.int64)
        )
        news, unchanged = answers.filter(~same), answers.filter(same)
        columns = [n for n in schema_of(name) if n in news.columns and n != "same_as"]
        unread = _unread(fetched, stands)
        again = writer.again.get(name)
        if again is not None and news.is_empty() and unread.is_empty():  # nothing has changed
            unchanged = unchanged.filter(~pl.col("id").is_in(again.implode()))
            writer.again[name] = again.filter(~again.is_in(answers["id"].implode()))
        parts = [
            (RECORD, news.select(columns)),
            (UNCHANGED, unchanged.select("id", "gone", "same_as")),
            (UNREADABLE, unread),
        ]
        frames = [
            rows_of(name, frame, kind, version, writer.today) for kind, frame in parts if len(frame)
        ]
        own = cells.filter(pl.col("report_id").is_in(news["id"].implode()))
        batches = [Batch("cells", own), Batch(name, pl.concat(frames))] if frames else []
        return batches, news.select("id", "gone", "known")

    def _name_reports(self, ids: list[int]) -> None:
        """Write down the reports of records that no list has named: they are to be fetched."""
        named = np.unique(np.array(ids, dtype=np.int64))
        known = places_in(self._stands["reports"].ids, named) >= 0
        new = np.setdiff1d(named[~known], np.array(sorted(self._added), dtype=np.int64))
        if len(new):
            self._added.update(new.tolist())
            self.writer.append_ids("reports", pl.DataFrame({"id": new}), NAMED)
            self._left["reports"] = np.union1d(self._left["reports"], new)
