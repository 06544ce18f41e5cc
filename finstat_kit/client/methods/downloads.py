"""Downloads of attached files: checked, each whole or not at all, resumed by the same call."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.client.collections.fetching import refuse_long_work
from finstat_kit.client.source import Allowance, Source
from finstat_kit.errors import NotFound, ProtocolError, RegisterError, invalid
from finstat_kit.frames.reports.attachments import ATTACHMENTS, file_name
from finstat_kit.in_place import put_in_place
from finstat_kit.protocol import requests
from finstat_kit.protocol.untrusted import is_markup
from finstat_kit.transport.threads import in_order

Status = pl.Enum(["downloaded", "kept", "failed"])
DOWNLOADS: Final = pl.Schema(
    {
        "id": pl.Int64(),
        "path": pl.String(),
        "bytes": pl.Int64(),
        "checked": pl.Boolean(),
        "status": Status,
        "problem": pl.String(),
    }
)

_Result = tuple[int, str | None, int | None, bool, str, str | None]  # a row of `DOWNLOADS`


class _File(NamedTuple):
    """A file as its record describes it."""

    id: int
    path: Path
    size: int | None
    digest: str | None


def download(
    source: Source,
    files: pl.DataFrame,
    folder: str | os.PathLike[str],
    max_bytes: int,
    allowance: Allowance,
) -> pl.DataFrame:
    """Download files; see `Documents.download`."""
    max_bytes = arguments.whole("max_bytes", max_bytes, 1, 2**31)
    target = _folder(folder)
    wanted = _files(files, target)
    refuse_long_work(source, len(wanted), allowance.max_requests)
    results: list[_Result] = []

    def fetch(file: _File, stop: threading.Event) -> _Result:
        return _fetched(file, source, max_bytes, stop)

    working = source.session.working(
        "files", len(wanted), lambda: _frame(results), allowance.progress,
        going_on="the same line continues: what was downloaded is kept",
    )  # fmt: skip
    with working as advance:
        for _, result in in_order(wanted, fetch, source.session.connections):
            results.append(result)
            advance(1)
    return _frame(results)


def _folder(folder: object) -> Path:
    path = arguments.path("folder", folder, "pdf")
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise invalid(
            "folder",
            str(path),
            f"cannot be created ({error.strerror})",
            give="one in an existing folder",
        ) from error
    return path


def _files(files: object, folder: Path) -> list[_File]:
    frame = given_frames.collected("files", files)
    types = {name: (dtype, pl.Null()) for name, dtype in ATTACHMENTS.items()}
    if not {"id", "report_id"} <= set(frame.columns) or any(
        frame.schema[name] not in types[name] for name in types if name in frame.columns
    ):
        raise invalid(
            "files", ..., "is not a frame of files", give="what fk.reports.files(reports) returns"
        )
    given_frames.ids(frame["id"].drop_nulls(), "files")
    rows = frame.unique("id", keep="first", maintain_order=True).rows(named=True)
    return [
        _File(
            row["id"],
            folder / file_name(row["id"], row.get("meno"), row.get("mimeType")),
            row.get("velkostPrilohy"),
            (row.get("digest") or "").lower() or None,
        )
        for row in rows
        if row["id"] is not None
    ]


def _fetched(file: _File, source: Source, most: int, stop: threading.Event) -> _Result:
    """Fetch a file unless it exists; an error concerns only this file."""
    try:
        if _is_there(file):
            return _result(file, file.path.stat().st_size, "kept")
        if file.size is not None and file.size > most:
            return _failed(file, f"{file.size:,} bytes, more than max_bytes={most:,}")
        request = requests.attachment(file.id, partial(_checked, file), most)
        body = source.session.exchange.get(request, stop)
        with put_in_place(file.path) as opened:
            opened.write(body)
    except RegisterError as error:
        # Outside /api a page of HTML with status 404 means the same.
        if isinstance(error, NotFound) or getattr(error, "status", None) == 404:
            return _failed(file, "the register has no such file (404); it may have been deleted")
        return _failed(file, error.message)
    except OSError as error:
        return _failed(file, f"cannot be written: {error.strerror}")
    return _result(file, len(body), "downloaded")


def _is_there(file: _File) -> bool:
    """Return whether a file is on the disk, with the size and digest of its record."""
    if not file.path.is_file() or (file.size is None and file.digest is None):
        return False
    if file.size is not None and file.path.stat().st_size != file.size:
        return False
    if file.digest is None:
        return True
    with file.path.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest() == file.digest


def _checked(file: _File, body: bytes) -> bytes:
    """Return the bytes of a file if they are those of its record."""
    if file.digest is not None:
        found = sha256(body).hexdigest()
        if found != file.digest:
            raise ProtocolError(
                f"its SHA-256 is {found[:12]}…, expected {file.digest[:12]}… as in its record"
            )
    elif file.size is not None:
        if len(body) != file.size:
            raise ProtocolError(
                f"it has {len(body):,} bytes, expected {file.size:,} as in its record"
            )
    elif is_markup(body):
        raise ProtocolError("its record has neither size nor SHA-256, and an outage page is alike")
    return body


def _result(file: _File, size: int, status: str) -> _Result:
    return file.id, str(file.path), size, file.digest is not None, status, None


def _failed(file: _File, problem: str) -> _Result:
    return file.id, None, None, False, "failed", problem


def _frame(results: Iterable[_Result]) -> pl.DataFrame:
    return pl.DataFrame(list(results), schema=DOWNLOADS, orient="row")
