"""The commands that fetch ids and records, and how to resume them: `ids`, `count`, `get`.

Records on their way to the output are written in small batches: an interruption loses none.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from finstat_kit.cli import options, reading
from finstat_kit.cli.output import (
    Output,
    cut_off,
    for_output,
    harmless,
    uninterrupted,
    write_all,
)
from finstat_kit.errors import Interrupted, NotFound, RegisterError, UsageError
from finstat_kit.protocol.wire import BY_FIELD

if TYPE_CHECKING:
    import polars as pl

    from finstat_kit.arguments import By, Lang
    from finstat_kit.client.collections.collection import Collection
    from finstat_kit.client.register import Register
    from finstat_kit.protocol.records import Kind, Record


_SECONDS_BETWEEN_WRITES: Final = 0.5  # a row waits no longer for the rows after it
_MOST_ROWS_OF_A_WRITE: Final = 1_000


@click.command()
@options.selection
@click.option("--limit", type=click.IntRange(0), help="No more than this many.")
@options.register
@options.output
def ids(
    collection: str,
    changed_since: str | None,
    after_id: int,
    limit: int | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """Print ids as they arrive."""
    from finstat_kit.protocol.requests import IDS

    output.check(IDS)
    listed: Collection = getattr(chosen(), collection)
    if output.streams:
        _stream_ids(listed, changed_since, after_id, limit, output)
        return
    try:
        frame = listed.ids(changed_since=changed_since, after_id=after_id, limit=limit)
    except (RegisterError, Interrupted) as error:
        if error.partial is not None and error.partial.height:
            output.write(error.partial)
            _report_cursor(error, error.partial.height, error.cursor)
        raise
    output.write(frame)


def _stream_ids(
    collection: Collection,
    changed_since: str | None,
    after_id: int,
    limit: int | None,
    output: Output,
) -> None:
    from finstat_kit.protocol.requests import IDS

    printed = 0
    header = True
    try:
        for page in collection.pages(changed_since=changed_since, after_id=after_id, limit=limit):
            # No polars call within the block: interrupted there without an error, it returns less
            # than it should.
            text = output.rendered(page, header=header)
            cursor = page["id"].to_list()[-1] if page.height else after_id
            with uninterrupted():
                write_all(text)
                printed += page.height
                after_id = cursor
                header = False
        if header:  # a limit of 0 has no page
            write_all(output.rendered(IDS.to_frame()))
    except UsageError:
        raise
    except (RegisterError, KeyboardInterrupt) as error:
        _report_cursor(error, printed, after_id)
        raise


def _report_cursor(error: BaseException, printed: int, cursor: int | None) -> None:
    """Report where to resume, instead of the message of an interruption."""
    click.echo(
        f"cut off after {printed:,} ids; to resume, add --after-id {cursor or 0} to the command",
        err=True,
    )
    if isinstance(error, Interrupted):
        error.message = ""


@click.command()
@click.argument("file", type=reading.file, required=False)
@options.input_format
@options.selection
@click.option(
    "--by",
    type=click.Choice(list(BY_FIELD)),
    help="A table of the units by this code; needs one request per record that is not given.",
)
@options.max_requests
@options.lang
@options.register
@options.output
def count(
    file: Path | None,
    input_format: str | None,
    collection: str,
    changed_since: str | None,
    after_id: int,
    by: By | None,
    max_requests: int | None,
    lang: Lang | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """Print how many ids match, or with --by how many units have each code.

    With a FILE, "-" or a pipe, those in it are counted: plain ids, or the records and figures that
    other commands print. Each id counts once. An empty pipe is an error; < /dev/null counts the
    register's ids.
    """
    from finstat_kit.frames.counts.count_by import COUNTS

    if by is None and (output.given or (lang, max_requests) != (None, None)):
        raise click.UsageError("--lang, --max-requests and options of the output go with --by")
    if by is not None and collection != "units":
        raise click.UsageError("--by counts records, which only the collection units has")
    selects = changed_since is not None or after_id > 0
    if file is None and reading.is_piped():
        file = reading.STANDARD_INPUT
    if selects and file is not None:
        raise click.UsageError(
            "--changed-since and --after-id select from the register, not FILE or standard input; "
            "leave it out, or add < /dev/null"
        )
    reg = chosen()
    if by is None:
        listed: Collection = getattr(reg, collection)
        if file is None:
            click.echo(listed.count(changed_since=changed_since, after_id=after_id))
        else:
            click.echo(reading.ids_in(file, collection, input_format).n_unique())
        return
    output.check(COUNTS)
    units = None if file is None else reading.units_in(file, by, input_format)
    if units is None:
        units = reg.units.ids(changed_since=changed_since, after_id=after_id)
    if by not in units.columns:
        units = reg.units.get(units, max_requests=max_requests)
    output.write(reg.count_by(units, by, lang=lang))


@click.command()
@click.argument("id_", metavar="ID…", nargs=-1, required=True)
@options.input_format
@options.collection
@click.option("--keep-going", is_flag=True, help="Report ids without a readable record at the end.")
@options.max_requests
@options.register
@options.output
def get(
    id_: tuple[str, ...],
    input_format: str | None,
    collection: str,
    keep_going: bool,
    max_requests: int | None,
    chosen: options.Chosen,
    output: Output,
) -> None:
    """Print records as they arrive; "-" reads standard input.

    Its ids may be plain or in records and figures: those of "get" and "financials" name units,
    statements and reports.

    Rows of csv and ndjson are printed while others are fetched; a table, parquet, xlsx and the file
    of --output are written at the end. If the command ends early, the records fetched before are
    written.
    """
    from finstat_kit.client.collections.fetching import stream_records
    from finstat_kit.protocol.records import KINDS, Record

    ids = ids_given(id_, collection, input_format)
    reg = chosen()
    kind = KINDS[collection]
    output.check(kind.schema)
    rows = Rows(kind, output)
    # A bar and rows on the same terminal would write over each other.
    progress = False if output.streams and sys.stdout.isatty() else None
    records = stream_records(
        collection, ids, reg._session, max_requests=max_requests, progress=progress, keep=keep_going
    )
    unreadable: list[str] = []
    try:
        with contextlib.closing(records):
            for number, record in records:
                if isinstance(record, Record):
                    rows.add(record)
                elif keep_going:
                    unreadable.append(_reason(number, record))
                else:
                    record.message = f"{_reason(number, record)}; --keep-going continues after it"
                    raise record
    except (RegisterError, KeyboardInterrupt):
        done = rows.count + len(unreadable)
        if rows.count:
            _write_rest(rows, reg, output)
        if done:
            many = "" if rows.count == 1 else "s"
            cut_off(f"{rows.count:,} row{many}", ids, done)
        _report_unreadable(unreadable)
        raise
    _write_rest(rows, reg, output)
    if unreadable:
        _report_unreadable(unreadable)
        raise SystemExit(1)


def ids_given(words: tuple[str, ...], collection: str, form: str | None) -> pl.Series:
    """Return the ids given to a command, those of standard input for ``-``."""
    if words == ("-",):
        return reading.ids_in(reading.STANDARD_INPUT, collection, form)
    return reading.ids_of(words)


def _reason(id_: int, error: RegisterError) -> str:
    # The message of a broken record names its id already.
    return f"id {id_}: no record" if isinstance(error, NotFound) else error.message


def _report_unreadable(unreadable: list[str]) -> None:
    if unreadable:
        told = "\n".join([f"ids without a readable record: {len(unreadable):,}", *unreadable])
        click.echo(harmless(told), err=True)


def _write_rest(rows: Rows, reg: Register, output: Output) -> None:
    if output.streams:
        rows.end()
        return
    frame = rows.frame()
    if frame.height == 1 and output.shown:
        frame = _labelled(frame, reg)
    output.write(frame)


def _labelled(frame: pl.DataFrame, reg: Register) -> pl.DataFrame:
    """Add the labels of the codes of one record, unless the register has no codelists."""
    coded = [name for name in BY_FIELD if name in frame.columns]
    present = [name for name in coded if frame[name].item() is not None]
    with contextlib.suppress(RegisterError):
        frame = reg.resolve_labels(frame, columns=present) if present else frame
    return frame


class Rows:
    """Records of a kind, written in small batches or collected for a file or a table.

    Attributes:
        count: Records added so far.
    """

    def __init__(self, kind: Kind[Record], output: Output) -> None:
        self.count = 0
        self._kind = kind
        self._output = output
        self._waiting: list[Record] = []
        self._frames: list[pl.DataFrame] = []
        self._begun = False
        self._next_write = 0.0

    def add(self, record: Record) -> None:
        """Take a record; where rows stream, write those that have waited long enough."""
        self._waiting.append(record)
        self.count += 1
        due = self._output.streams and time.monotonic() >= self._next_write
        if due or len(self._waiting) >= _MOST_ROWS_OF_A_WRITE:
            self.flush()

    def flush(self) -> None:
        """Write the records that wait, or put them into a frame."""
        # No polars call within the block below: interrupted there without an error, it returns
        # less than it should.
        frame = self._kind.frame(self._waiting)
        text = self._text(frame) if self._output.streams else b""
        with uninterrupted():
            if self._output.streams:
                write_all(text)
            else:
                self._frames.append(frame)
            self._begun = True
            self._waiting.clear()
            self._next_write = time.monotonic() + _SECONDS_BETWEEN_WRITES

    def end(self) -> None:
        """Write the records that still wait; for an empty result the header."""
        if self._waiting or not self._begun:
            self.flush()

    def frame(self) -> pl.DataFrame:
        """Return the records that were collected."""
        import polars as pl

        self.end()
        return pl.concat(self._frames, rechunk=True)

    def _text(self, frame: pl.DataFrame) -> bytes:
        return for_output(self._output.rendered(frame, header=not self._begun))
