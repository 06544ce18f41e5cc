"""The files of reports: one row per file, and the name under which each is saved."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import polars as pl

from finstat_kit.errors import invalid
from finstat_kit.given_frames import Frame, not_polars
from finstat_kit.protocol.records import Attachment, dtype_of

_FILES: Final = "prilohy"
_FIELDS: Final = dtype_of(Attachment)
assert isinstance(_FIELDS, pl.Struct)
ATTACHMENTS: Final = pl.Schema({"report_id": pl.Int64(), **_FIELDS.to_schema()})
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\u2028\u2029]+')
_LONGEST: Final = 120  # bytes of a name, with room for the id and a suffix
_SUFFIXES: Final = {
    "application/pdf": ".pdf",
    "application/xhtml+xml": ".xhtml",  # ESEF, and income tax reports
    "application/zip": ".zip",
    "text/xml": ".xml",
}


def files(reports: Frame) -> Frame:
    """List the files of reports; see `Documents.files`."""
    if not isinstance(reports, pl.DataFrame | pl.LazyFrame):
        raise not_polars("reports", reports)
    schema = reports.collect_schema()
    dtype = schema.get(_FILES)
    inner = dtype.inner if isinstance(dtype, pl.List) else None
    if "id" not in schema or not (isinstance(inner, pl.Struct) or dtype == pl.Null):
        raise invalid(
            "reports",
            ...,
            ": the frame has no columns 'id' and 'prilohy' as records have",
            give="what fk.reports.get returns",
        )
    rows = reports.select(
        pl.col("id").cast(pl.Int64).alias("report_id"), pl.col(_FILES).cast(pl.List(_FIELDS))
    )
    return rows.explode(_FILES).filter(pl.col(_FILES).is_not_null()).unnest(_FILES)


def file_name(id_: int, name: str | None, kind: str | None) -> str:
    """Return a safe name of a file, unique by its id, the same at every run.

    >>> file_name(7, "../správa: 2024.pdf", None)
    '7_správa 2024.pdf'
    """
    # A format character is invisible, or reverses the text after it: "fdp.exe" for "exe.pdf".
    visible = "".join(sign for sign in name or "" if unicodedata.category(sign) != "Cf")
    last = re.split(r"[/\\]", visible)[-1]
    safe = " ".join(_UNSAFE.sub(" ", last).split()).strip(". ").replace(" .", ".")
    stem, dot, suffix = safe.rpartition(".")
    if not dot or len(suffix) > 10:
        stem, suffix = safe, ""
    stem = stem.encode()[:_LONGEST].decode(errors="ignore").strip()
    ending = f".{suffix}" if suffix else _SUFFIXES.get(kind or "", "")
    return f"{id_}_{stem}{ending}" if stem else f"{id_}{ending}"
