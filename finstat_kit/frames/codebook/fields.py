"""The codebook: what the columns of records and of results mean, in both languages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final

import polars as pl

from finstat_kit import arguments, calls
from finstat_kit.frames.codebook.quantities import quantity_of
from finstat_kit.frames.counts import count_by, estimation
from finstat_kit.frames.financials import assemble, filings, items, ratios
from finstat_kit.frames.financials.reasons import STATUS
from finstat_kit.frames.findings import panel, peers, scale, summary
from finstat_kit.frames.places import match_names
from finstat_kit.frames.reports import cells, check_sums
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.unit_names import MATCHED_BY
from finstat_kit.frames.units import matching
from finstat_kit.protocol import wire
from finstat_kit.protocol.records import KINDS

FIELDS: Final = pl.Schema(
    dict.fromkeys(
        (
            "field", "dtype", "meaning_sk", "meaning_en", "codelist", "unit", "read_from",
            "values_sk", "values_en",
        ),
        pl.String(),
    )
)  # fmt: skip
_OF_RECORDS: Final = Words("fields")
_OF_RESULTS: Final = Words("columns")
_VALUES: Final = Words("values")
_BY_SEARCH: Final = {"units": {"matched_by": MATCHED_BY}}  # beside the columns of records
# Columns by which a frame is recognised where names mean different things in different results.
_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "units": ("nazovUJ",),
    "statements": ("idUctovnychVykazov", "typ"),
    "reports": ("idSablony",),
    "annual_reports": ("idUJ", "typ"),
    "match_units": ("matched_by", "candidates"),
    "summary": ("value", "without"),
    "flows": ("enter", "leave"),
    "peers": ("own", "percentile"),
    "estimate": ("count_low", "listed"),
    "count_by": ("code", "kind"),
    "checks": ("checked", "failing"),
    "download": ("path", "problem"),
    "doctor": ("check", "meaning"),
    "templates": ("decree", "tables"),
    "template": ("mark", "terms"),
    "codelists": ("endpoint", "field"),
    "snapshot": ("gone", "seen"),
}
_MEASURED_IN: Final = {"amount": "EUR", "share": "share, 1 is 100 %", "number": "ratio"}
_UNITS: Final = {
    "months": "months", "score": "share, 1 is 100 %", "seconds": "seconds", "bytes": "bytes",
    "seconds_low": "seconds", "seconds_high": "seconds", "velkostPrilohy": "bytes", "age": "years",
}  # fmt: skip
_MADE_OF_ANOTHER: Final = ("_before", "_change", "_growth", "_restated", "_reason", "_label")
_CODED: Final = {"nace_filed": "activities"}


@calls.checked_call
def fields(collection: str | pl.DataFrame | pl.LazyFrame = "units") -> pl.DataFrame:
    """Explain the columns of records or results: a codebook. Sends no request.

    `fk.write` puts it beside a frame, on a sheet of xlsx and into the metadata of parquet.

    Args:
        collection: Any frame of this package, also with columns of one's own beside its own; or a
            name: ``"units"``, ``"statements"``, ``"reports"``, ``"annual_reports"`` (records),
            ``"financials"``, ``"filings"``, ``"ratios"``, ``"panel"``, ``"flows"``, ``"summary"``,
            ``"peers"``, ``"cells"``, ``"items"``, ``"checks"``, ``"count_by"``,
            ``"estimate"``, ``"match_units"`` or ``"match_places"``.

    Returns:
        One row per column, in their order (of units by name also the column that `find` adds); all
        String: ``field``, ``dtype``, ``meaning_sk``, ``meaning_en`` (null for a column of one's
        own), ``codelist`` (the function that lists its codes), ``unit`` (of measure), ``read_from``
        (of an item the forms, tables and printed rows, of a ratio its formula), ``values_sk`` and
        ``values_en`` (what each value means, such as a reason); null where there is none. The
        fields within a Struct, or a List of them, follow their column, with its name before a dot:
        ``titulnaStrana.ico``.

    Raises:
        UsageError: *collection* is neither a frame nor one of these names.

    Example:
        >>> import finstat_kit as fk
        >>> fk.fields("units").filter(field="kraj").row(0)[:5]
        ('kraj', 'String', 'kód kraja sídla', 'code of the region of the seat', 'regions')
        >>> tangible = fk.fields("financials").filter(field="tangible_assets")
        >>> tangible.select("meaning_en", "unit", "read_from").row(0)
        ('tangible assets', 'EUR', '699 table 0: +11; 687 table 0: +4; 21 table 0: +11; ...')
    """
    if isinstance(collection, pl.DataFrame | pl.LazyFrame):
        columns: Mapping[str, pl.DataType] = collection.lazy().collect_schema()
        return _explained(columns, _origin(columns))
    known = _results()
    arguments.one_of("collection", collection, tuple(known))
    return _explained(known[collection], collection)


@cache
def _results() -> dict[str, Mapping[str, pl.DataType]]:
    """Return the columns of the results that have a name."""
    figures = assemble.schema()
    before = {name: dtype for name, dtype in figures.items() if name in assemble.IDENTITY}
    computed = dict.fromkeys(ratios.NAMES, pl.Float64()) | {ratios.BELOW_CRISIS: pl.Boolean()}
    after = {ratios.EXCLUDED: pl.List(pl.String), **assemble.PROVENANCE}
    return {
        **{name: kind.schema | _BY_SEARCH.get(name, {}) for name, kind in KINDS.items()},
        "financials": figures,
        "filings": filings.FILINGS,
        "ratios": before | computed | after,
        "panel": figures | {"status": STATUS, scale.DOUBTFUL: pl.Boolean()},
        "flows": panel.FLOWS,
        "summary": summary.schema([]),
        "peers": peers.PEERS,
        "cells": cells.CELLS,
        "items": items.ITEMS,
        "checks": check_sums.CHECKS,
        "count_by": count_by.COUNTS,
        "estimate": estimation.ESTIMATES,
        "match_units": matching.MATCHES,
        "match_places": match_names.MATCHES,
    }


def is_known(frame: pl.DataFrame) -> bool:
    """Return whether any column of a frame is one of this package."""
    origin = _origin(frame.schema)
    return any(_meanings(name, origin) != (None, None) for name in frame.columns)


def _origin(columns: Iterable[str]) -> str:
    """Return the result that a frame looks like; ``""`` where names need no distinction."""
    names = set(columns)
    return next((name for name, marks in _MARKS.items() if names.issuperset(marks)), "")


def _explained(columns: Mapping[str, pl.DataType], origin: str) -> pl.DataFrame:
    rows = [
        (
            field, _dtype(dtype), *_meanings(field, origin), _codelist(field), _unit(field),
            _read_from(field), *(_values(field, dtype, lang) for lang in ("sk", "en")),
        )
        for field, dtype in _nested(columns.items())
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=FIELDS, orient="row")


def _nested(
    columns: Iterable[tuple[str, pl.DataType]], prefix: str = ""
) -> Iterator[tuple[str, pl.DataType]]:
    """Yield the names and types of columns, each followed by those of the fields within."""
    for name, dtype in columns:
        yield prefix + name, dtype
        within = dtype.inner if isinstance(dtype, pl.List) else dtype
        if isinstance(within, pl.Struct):
            inner = [(field.name, field.dtype) for field in within.fields]
            yield from _nested(inner, f"{prefix}{name}.")  # type: ignore[arg-type]


def _dtype(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        return "List(Struct)"
    return dtype.base_type().__name__ if isinstance(dtype, pl.Struct | pl.Enum) else str(dtype)


def _meanings(field: str, origin: str) -> tuple[str | None, str | None]:
    """Return what a column means; most mean the same wherever they are."""
    last = field.rpartition(".")[2]
    for name in dict.fromkeys((f"{origin}.{field}", field, last)):
        for words in (_OF_RECORDS, _OF_RESULTS):
            if name in words["sk"]:
                return words["sk"][name], words["en"][name]
        if (labels := _labels().get(name)) is not None:
            return labels
    if field.isdecimal():
        return tuple(_OF_RESULTS[lang]["_year"].format(name=field) for lang in ("sk", "en"))  # type: ignore[return-value]
    for ending in _MADE_OF_ANOTHER:
        base = field.removesuffix(ending)
        if base != field:
            known = _meanings(base, origin)
            # Without the note in brackets.
            texts = [(meaning or base).partition(" (")[0] for meaning in known]
            names = [base] * 2 if ending == "_label" else texts
            sk, en = (_OF_RESULTS[lang][ending] for lang in ("sk", "en"))
            return sk.format(name=names[0]), en.format(name=names[1])
    return None, None


@cache
def _labels() -> dict[str, tuple[str, str]]:
    """Return the labels of items and ratios, with what is to be minded."""
    labels = {
        item.name: (item.label_sk, item.label_en + (f" ({item.note})" if item.note else ""))
        for item in items.item_table()
    }
    listed = ratios.listed().select("ratio", "label_sk", "label_en")
    return labels | {name: (sk, en) for name, sk, en in listed.iter_rows()}


def _codelist(field: str) -> str | None:
    name = field.rpartition(".")[2]
    return wire.BY_FIELD[name].name if name in wire.BY_FIELD else _CODED.get(name)


def _unit(field: str) -> str | None:
    quantity = quantity_of(field)
    return _UNITS.get(field.rpartition(".")[2]) if quantity is None else _MEASURED_IN[quantity]


@cache
def _read_from(field: str) -> str | None:
    """Return the forms and printed rows of an item, or the formula of a ratio."""
    for item in items.item_table():
        if item.name == field:
            return "; ".join(
                f"{form} table {table}: {item.terms(form)}"
                for form, (table, _) in item.forms.items()
            )
    return _formulas().get(field)


@cache
def _formulas() -> dict[str, str]:
    return dict(ratios.listed().select("ratio", "formula").iter_rows())


def _values(field: str, dtype: pl.DataType, lang: arguments.Lang) -> str | None:
    """Return what each value of a column of categories means."""
    last = field.rpartition(".")[2]
    own = [f"{value}" for value in dtype.categories] if isinstance(dtype, pl.Enum) else []
    if not own and last == "reason":  # read back from a file
        own = list(cells.REASONS)
    if own and set(own) <= set(cells.REASONS):
        texts: Mapping[str, str] = cells.REASON_TEXTS[lang]
    else:
        kind = "growth" if last.endswith("_reason") else last
        texts = {value: _VALUES[lang].get(f"{kind}.{value}", "") for value in own}
    return "; ".join(f"{value}: {texts[value]}" for value in own if texts[value]) or None
