"""The codebook: what the columns of records and of results mean, in both languages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import polars as pl

from finstat_kit import arguments, calls
from finstat_kit.frames.codebook.quantities import quantity_of
from finstat_kit.frames.counts import count_by, estimation
from finstat_kit.frames.financials import assemble, filings, history, items, ratios
from finstat_kit.frames.financials.reasons import STATUS
from finstat_kit.frames.findings import panel, peers, scale, summary
from finstat_kit.frames.places import labels, locations, match_names
from finstat_kit.frames.reports import attachments, cells, check_sums, templates
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.unit_names import MATCHED_BY
from finstat_kit.frames.units import matching
from finstat_kit.protocol import wire
from finstat_kit.protocol.codelists import CLASSIFICATION, LOCATIONS
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
_VALUES: Final = Words("values")
_MEASURED_IN: Final = {"amount": "EUR", "share": "share, 1 is 100 %", "number": "ratio"}
_UNITS: Final = {
    "months": "months", "score": "share, 1 is 100 %", "velkostPrilohy": "bytes", "age": "years",
}  # fmt: skip
_MADE_OF_ANOTHER: Final = ("_before", "_change", "_growth", "_reason", "_label")
_CODED: Final = {"nace_filed": "activities"}


@calls.checked_call
def fields(collection: str | pl.DataFrame | pl.LazyFrame = "units") -> pl.DataFrame:
    """Explain the columns of records or results: a codebook. Sends no request.

    `fk.write` puts it beside a frame, on a sheet of xlsx and into the metadata of parquet.

    Args:
        collection: A frame of records, codelists, figures or findings, also with columns of one's
            own beside its own; or a name: ``"units"``, ``"statements"``, ``"reports"``,
            ``"annual_reports"`` (records), ``"financials"``, ``"filings"``, ``"ratios"``,
            ``"panel"``, ``"flows"``, ``"summary"``, ``"peers"``, ``"cells"``, ``"checks"``,
            ``"count_by"``, ``"estimate"``, ``"match_units"`` or ``"match_places"``.

    Returns:
        One row per column, in their order (of units by name also the column that `find` adds); all
        String: ``field``, ``dtype``, ``meaning_sk``, ``meaning_en`` (null for a column of one's
        own, also where another result has its name), ``codelist`` (the function that lists its
        codes), ``unit`` (of measure), ``read_from`` (of an item the forms, tables and printed rows,
        of a ratio its formula), ``values_sk`` and ``values_en`` (what each value means, such as a
        reason); null where there is none. The fields within a Struct, or a List of them, follow
        their column, with its name before a dot: ``titulnaStrana.ico``.

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
        return _explained(columns, _kinds(columns))
    known = {name: result.columns for name, result in _results().items() if result.marks}
    arguments.one_of("collection", collection, tuple(known))
    return _explained(known[collection], [collection])


class _Result(NamedTuple):
    """What a function returns.

    Attributes:
        columns: Those of it.
        marks: Those by which a frame is recognised; a result without a name by all.
        also: Further ones that it can have.
    """

    columns: Mapping[str, pl.DataType]
    marks: tuple[str, ...] = ()
    also: Collection[str] = ()


@cache
def _results() -> dict[str, _Result]:
    """Return the results of this package, those that have a name in `fields` with marks.

    A frame can be several, such as figures joined to records: what stands first explains a name of
    both.
    """
    figures = assemble.schema()
    before = {name: dtype for name, dtype in figures.items() if name in assemble.IDENTITY}
    computed = dict.fromkeys(ratios.NAMES, pl.Float64()) | {ratios.BELOW_CRISIS: pl.Boolean()}
    after = {ratios.EXCLUDED: pl.List(pl.String), **assemble.PROVENANCE}
    records = {name: kind.schema for name, kind in KINDS.items()}
    of_panel = {"status": STATUS, scale.DOUBTFUL: pl.Boolean()}
    changes = dict.fromkeys(("id", "field", "old", "new", "seen"), pl.String())
    of_list = dict.fromkeys(("name", "endpoint", "source", "field", "label"), pl.String())
    unit_year = ("unit_id", "year")
    return {
        "summary": _Result(summary.schema([]), ("value", "without"), labels.NAMED),
        "flows": _Result(panel.FLOWS, ("enter", "leave")),
        "peers": _Result(peers.PEERS, ("own", "percentile")),
        "estimate": _Result(estimation.ESTIMATES, ("code", "count_low")),
        "count_by": _Result(count_by.COUNTS, ("code", "count", "kind")),
        "checks": _Result(check_sums.CHECKS, ("checked", "failing")),
        "match_units": _Result(matching.MATCHES, ("matched_by", "candidates")),
        "match_places": _Result(match_names.MATCHES, ("given", "how")),
        "cells": _Result(cells.CELLS, ("report_id", "row", "column"), ("label_sk", "label_en")),
        "filings": _Result(filings.FILINGS, ("report_ids", "counts")),
        "panel": _Result(figures | of_panel, (*unit_year, scale.DOUBTFUL), ratios.NAMES),
        "ratios": _Result(before | computed | after, (*unit_year, ratios.EXCLUDED), figures),
        "financials": _Result(figures, unit_year, ratios.NAMES),
        "units": _Result(records["units"] | {"matched_by": MATCHED_BY}, ("nazovUJ",), ("given",)),
        "statements": _Result(records["statements"], ("idUctovnychVykazov", "typ")),
        "reports": _Result(records["reports"], ("idSablony",)),
        "annual_reports": _Result(records["annual_reports"], ("idUJ", "typ")),
        "statement": _Result(history.LABELS),
        "filings of a statement": _Result(history.FILINGS),
        "list of items": _Result(items.LISTED),
        "list of ratios": _Result(ratios.LISTED),
        "unresolved": _Result(labels.UNRESOLVED),
        "locations": _Result(locations.LOCATIONS),
        "codelist": _Result(CLASSIFICATION),
        "list of places": _Result(LOCATIONS),
        "templates": _Result(templates.TEMPLATES),
        "template": _Result(templates.ROWS),
        "columns": _Result(templates.COLUMNS),
        "attachments": _Result(attachments.ATTACHMENTS),
        "fields": _Result(FIELDS),
        "codelists": _Result(of_list),
        "changes": _Result(changes),
        "snapshot": _Result({"gone": pl.String(), "seen": pl.Date()}),
    }


def is_known(frame: pl.DataFrame) -> bool:
    """Return whether a frame is a result of this package."""
    return bool(_kinds(frame.schema))


def _kinds(columns: Collection[str]) -> list[str]:
    """Return the results that a frame with these columns looks like."""
    names = set(columns)
    return [
        kind
        for kind, result in _results().items()
        if names.issuperset(result.marks or result.columns)
    ]


def _explained(columns: Mapping[str, pl.DataType], kinds: Sequence[str]) -> pl.DataFrame:
    rows: list[tuple[str | None, ...]] = []
    for field, dtype in _nested(columns.items()):
        meanings = _meanings(field, kinds, columns)
        known = meanings is not None and (
            _codelist(field), _unit(field), _sources().get(field),
            *(_values(field, dtype, lang) for lang in ("sk", "en")),
        )  # fmt: skip
        rows.append((field, _dtype(dtype), *(meanings or [None] * 2), *(known or [None] * 5)))
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


def _meanings(field: str, kinds: Sequence[str], columns: Collection[str]) -> tuple[str, str] | None:
    """Return what a column means in a frame of these kinds; None for one of the user's own."""
    outer, last = field.partition(".")[0], field.rpartition(".")[2]
    for kind in kinds:
        if outer in _results()[kind].columns or outer in _results()[kind].also:
            names = (f"{kind}.{field}", field, last)
            name = next(name for name in names if name in _texts("sk"))
            return _texts("sk")[name], _texts("en")[name]
    if "statement" in kinds and field.isdecimal():
        return _made("_year", field, field)
    for ending in _MADE_OF_ANOTHER if kinds else ():
        base = field.removesuffix(ending)
        if base != field and base in columns:
            known = _meanings(base, kinds, columns) or (base, base)
            sk, en = (meaning.partition(" (")[0] for meaning in known)  # without the note
            return _made(ending, *((base, base) if ending == "_label" else (sk, en)))
    coded = {item.label: item.code for item in labels.FIELDS.values()}
    if kinds and coded.get(field) in columns:  # what `resolve_labels` adds
        return _texts("sk")[field], _texts("en")[field]
    return None


def _made(ending: str, sk: str, en: str) -> tuple[str, str]:
    return _texts("sk")[ending].format(name=sk), _texts("en")[ending].format(name=en)


@cache
def _texts(lang: arguments.Lang) -> Mapping[str, str]:
    """Return the meanings of all names, of items with what is to be minded."""
    texts = {
        item.name: item.label_sk if lang == "sk"
        else item.label_en + (f" ({item.note})" if item.note else "")
        for item in items.item_table()
    }  # fmt: skip
    texts |= dict(ratios.listed().select("ratio", f"label_{lang}").iter_rows())
    return texts | {**Words("columns")[lang], **Words("fields")[lang]}


def _codelist(field: str) -> str | None:
    name = field.rpartition(".")[2]
    return wire.BY_FIELD[name].name if name in wire.BY_FIELD else _CODED.get(name)


def _unit(field: str) -> str | None:
    quantity = quantity_of(field)
    return _UNITS.get(field.rpartition(".")[2]) if quantity is None else _MEASURED_IN[quantity]


@cache
def _sources() -> dict[str, str]:
    """Return the forms and printed rows of items, and the formulas of ratios."""
    rows = {
        item.name: "; ".join(
            f"{form} table {table}: {item.terms(form)}" for form, (table, _) in item.forms.items()
        )
        for item in items.item_table()
    }
    return rows | dict(ratios.listed().select("ratio", "formula").iter_rows())


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
