"""The codebook: what the columns of records and of results mean, in both languages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

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
_BY_SEARCH: Final = {"units": {"matched_by": MATCHED_BY}}  # beside the columns of records
# Columns by which a frame is recognised; results that are not here, by all of theirs. A frame can
# be several, such as figures joined to records: what stands first explains a name of both.
_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "summary": ("value", "without"),
    "flows": ("enter", "leave"),
    "peers": ("own", "percentile"),
    "estimate": ("code", "count_low"),
    "count_by": ("code", "count", "kind"),
    "checks": ("checked", "failing"),
    "match_units": ("matched_by", "candidates"),
    "match_places": ("given", "how"),
    "cells": ("report_id", "row", "column"),
    "filings": ("report_ids", "counts"),
    "panel": ("unit_id", "year", "scale_doubtful"),
    "ratios": ("unit_id", "year", "excluded"),
    "financials": ("unit_id", "year"),
    "units": ("nazovUJ",),
    "statements": ("idUctovnychVykazov", "typ"),
    "reports": ("idSablony",),
    "annual_reports": ("idUJ", "typ"),
}
# Results that no name of `fields` stands for. Those of the layers above are spelled out.
_OTHERS: Final[Mapping[str, Collection[str]]] = {
    "statement": history.LABELS,
    "filings of a statement": history.FILINGS,
    "list of items": items.LISTED,
    "list of ratios": ratios.LISTED,
    "unresolved": labels.UNRESOLVED,
    "locations": locations.LOCATIONS,
    "codelist": CLASSIFICATION,
    "list of places": LOCATIONS,
    "templates": templates.TEMPLATES,
    "template": templates.ROWS,
    "columns": templates.COLUMNS,
    "attachments": attachments.ATTACHMENTS,
    "fields": FIELDS,
    "codelists": ("name", "endpoint", "source", "field", "label"),
    "cases": ("case", "statement_id", "report_id"),
    "plan": ("collection", "requests", "at_most", "seconds_low", "seconds_high", "bytes"),
    "download": ("id", "path", "bytes", "checked", "status", "problem"),
    "doctor": ("check", "status", "seen", "expected", "meaning"),
    "sync": ("list", "window", "new", "changed", "gone", "unreadable", "requests", "seconds"),
    "holdings": ("collection", "listed", "held", "from_id", "lacking", "seconds", "pulled"),
    "unread": ("collection", "id", "problem", "seen"),
    "verify": ("file", "rows", "damaged", "meaning"),
    "changes": ("id", "field", "old", "new", "seen"),
    "snapshot": ("gone", "seen"),
}
_MEASURED_IN: Final = {"amount": "EUR", "share": "share, 1 is 100 %", "number": "ratio"}
_UNITS: Final = {
    "months": "months", "score": "share, 1 is 100 %", "seconds": "seconds", "bytes": "bytes",
    "seconds_low": "seconds", "seconds_high": "seconds", "velkostPrilohy": "bytes", "age": "years",
}  # fmt: skip
_MADE_OF_ANOTHER: Final = ("_before", "_change", "_growth", "_reason", "_label")
_CODED: Final = {"nace_filed": "activities"}


@calls.checked_call
def fields(collection: str | pl.DataFrame | pl.LazyFrame = "units") -> pl.DataFrame:
    """Explain the columns of records or results: a codebook. Sends no request.

    `fk.write` puts it beside a frame, on a sheet of xlsx and into the metadata of parquet.

    Args:
        collection: Any frame of this package, also with columns of one's own beside its own; or a
            name: ``"units"``, ``"statements"``, ``"reports"``, ``"annual_reports"`` (records),
            ``"financials"``, ``"filings"``, ``"ratios"``, ``"panel"``, ``"flows"``, ``"summary"``,
            ``"peers"``, ``"cells"``, ``"checks"``, ``"count_by"``,
            ``"estimate"``, ``"match_units"`` or ``"match_places"``.

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
    known = _results()
    arguments.one_of("collection", collection, tuple(known))
    return _explained(known[collection], [collection])


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
        "checks": check_sums.CHECKS,
        "count_by": count_by.COUNTS,
        "estimate": estimation.ESTIMATES,
        "match_units": matching.MATCHES,
        "match_places": match_names.MATCHES,
    }


def is_known(frame: pl.DataFrame) -> bool:
    """Return whether a frame is a result of this package."""
    return bool(_kinds(frame.schema))


def _kinds(columns: Collection[str]) -> list[str]:
    """Return the results that a frame with these columns looks like."""
    names = set(columns)
    return [kind for kind, marks in {**_MARKS, **_OTHERS}.items() if names.issuperset(marks)]


@cache
def _names(kind: str) -> frozenset[str]:
    """Return the columns that a result of this kind can have."""
    names = {*_results().get(kind, _OTHERS.get(kind, ()))}
    if kind in ("financials", "ratios", "panel"):
        names |= {*_results()["financials"], *ratios.NAMES}
    if kind == "panel":
        names.add("status")
    if kind == "summary":
        names |= set(labels.NAMED)
    if kind == "cells":
        names |= {"label_sk", "label_en", "reason"}
    if kind == "units":
        names.add("given")
    return frozenset(names)


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
        if outer in _names(kind):
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
