"""The panel of a statement viewer: the filings of a unit, and the forms of one of them, as HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.frames.financials.choice import in_preference
from finstat_kit.frames.reports import cells
from finstat_kit.frames.reports.filed import Filed, amount, kind_text
from finstat_kit.frames.text import slovak
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.number_format import day_text
from finstat_kit.protocol.untrusted import escape, printable
from finstat_kit.widgets.controls.base import heading, scrolling, table

_ORDINARY: Final = "Riadna"
_YEAR: Final = 12  # months of a usual period
_NONE: Final = (None, None, None)
# By family the word and the item for what a unit lives on.
_INCOME: Final = {
    "business": ("sales", "sales"),
    "public": ("revenue", "revenue_total"),
    "non_profit": ("revenue", "revenue_total"),
    "single_entry": ("receipts", "receipts_total"),
}
_WORDS: Final = Words("filing_panel")


@dataclass(frozen=True, slots=True)
class Shown:
    """A unit and one of its filings, ready to be shown."""

    name: str
    ico: str
    filings: pl.DataFrame  # of `filings`
    figures: pl.DataFrame | None  # of `financials`, None until they are fetched
    statement: int | None  # None: there are no statements
    forms: Sequence[Filed]
    source: str
    lang: Lang


def units(records: pl.DataFrame, unnamed: str) -> list[list[str]]:
    """Return code, name, distinguishing text, no parents, and the IČO to search for."""
    towns = records["mesto"] if "mesto" in records.columns else [None] * records.height
    rows = zip(records["id"], records["nazovUJ"], records["ico"], towns, strict=True)
    items = {
        str(unit): [str(unit), printable(name or unnamed.format(id=unit)),
                    printable(" · ".join(filter(None, (ico, town)))), "", "", ico or ""]
        for unit, name, ico, town in rows
        if unit is not None
    }  # fmt: skip
    return sorted(items.values(), key=lambda item: (slovak.sort_key(item[1]), int(item[0])))


def options(filings: pl.DataFrame, lang: Lang) -> list[tuple[str, int]]:
    """Return a text and the id of each statement of a known year, the newest first.

    Beside the year are the differences from an ordinary statement of the unit itself of twelve
    months; where these are the same, the day of filing, and where this is too, the id.
    """
    rows = list(reversed(list(filings.drop_nulls("year").iter_rows(named=True))))
    parts = [_differences(row, lang) for row in rows]
    for further in (_filed, _numbered):
        repeats = Counter(map(tuple, parts))
        parts = [
            [*part, *(text for text in further(row, lang) if text not in part)]
            if repeats[tuple(part)] > 1
            else part
            for part, row in zip(parts, rows, strict=True)
        ]
    return [(" · ".join(part), row["statement_id"]) for part, row in zip(parts, rows, strict=True)]


def _differences(row: dict[str, Any], lang: Lang) -> list[str]:
    words = _WORDS[lang]
    parts = [str(row["year"]), *_filer(row, lang)]
    if row["kind"] not in (_ORDINARY, None):
        parts.append(kind_text(row["kind"], lang))
    if row["months"] not in (_YEAR, None):
        parts.append(words["month"].format(n=row["months"]))
    if row["superseded_by"] is not None:
        parts += [words["superseded"], *_filed(row, lang)]
    elif row["reason"] is not None:
        parts.append(cells.REASON_TEXTS[lang][row["reason"]])
    return parts


def first(filings: pl.DataFrame) -> int | None:
    """Return the statement to show first, or None.

    It is one of the newest year with a statement that counts, else of the newest year: of several
    the one that goes first in `financials`, too.
    """
    dated = filings.drop_nulls("year")
    counting = dated.filter("counts")
    candidates = dated if counting.is_empty() else counting
    of_year = candidates.lazy().filter(pl.col("year") == pl.col("year").max())
    newest = in_preference(of_year).collect()
    return None if newest.is_empty() else int(newest["statement_id"][0])


def former_report(lang: Lang) -> str:
    """Return the note of a report that another one on the same form supersedes."""
    return _WORDS[lang]["former report"]


def panel(shown: Shown) -> str:
    """Return the unit, its filings and the forms; many filings scroll, by keyboard too."""
    words = _WORDS[shown.lang]
    years = scrolling(words["years"], "flex:0 1 auto;max-height:28em;", _years(shown))
    # Each table of a form scrolls by itself.
    forms = f'<div style="flex:1 1 46em;min-width:0">{_forms(shown)}</div>'
    return (
        f'<section lang="{shown.lang}" aria-label="{escape(shown.name)}">{_head(shown)}'
        '<div style="display:flex;flex-wrap:wrap;gap:1em 2em;align-items:flex-start">'
        f"{years}{forms}</div></section>"
    )


def static(shown: Shown) -> str:
    """Return the view in a saved notebook: the same without boxes that scroll."""
    return _head(shown) + _years(shown) + _forms(shown)


def _head(shown: Shown) -> str:
    parts = [f"IČO {shown.ico}"] if shown.ico else []
    return heading(shown.name, " · ".join([*parts, shown.source]))


def _years(shown: Shown) -> str:
    words, lang = _WORDS[shown.lang], shown.lang
    income, figures = _figures(shown.figures)
    rows = [
        [
            ("▸\xa0" if row["statement_id"] == shown.statement is not None else "")
            + str(row["year"] or "–"),
            "–" if row["months"] is None else str(row["months"]),
            " · ".join([kind_text(row["kind"] or "–", lang), *_filer(row, lang)]),
            day_text(row["filed"], lang) if row["filed"] else "–",
            _state(row, lang),
            *("" if v is None else amount(v, lang, 0)
              for v in figures.get(row["statement_id"], _NONE)),
        ]
        for row in reversed(list(shown.filings.iter_rows(named=True)))
    ]  # fmt: skip
    names = ("year", "months", "kind", "filed", "state", income, "result", "assets")
    return table([words[name] for name in names], rows, numbers=3)


def _figures(
    figures: pl.DataFrame | None,
) -> tuple[str, dict[int, tuple[float | None, float | None, float | None]]]:
    """Return the word for sales, and sales, result and total assets of each statement taken.

    Public bodies and non-profits live on more than sales: of theirs it is the revenue in total, of
    single-entry filers the receipts.
    """
    if figures is None:
        return "sales", {}
    families = figures["family"].drop_nulls()
    word, income = _INCOME[families[-1] if len(families) else "business"]
    rows = figures.drop_nulls("statement_id").select(
        "statement_id", income, pl.coalesce("net_profit", "cash_result"), "total_assets"
    )
    return word, {row[0]: row[1:] for row in rows.iter_rows()}


def _forms(shown: Shown) -> str:
    words = _WORDS[shown.lang]
    if shown.statement is None:
        return ""
    (row,) = shown.filings.filter(statement_id=shown.statement).iter_rows(named=True)
    facts = (_numbered, _filer, _filed)
    notes = [escape(" · ".join(text for fact in facts for text in fact(row, shown.lang)))]
    if (later := row["superseded_by"]) is not None:
        notes.append(f"<strong>{words['superseded_by'].format(id=later)}</strong>")
    former = shown.filings.filter(superseded_by=shown.statement)["statement_id"]
    notes += [words["supersedes"].format(id=earlier) for earlier in former]
    if row["reason"] is not None:
        notes.append(cells.REASON_TEXTS[shown.lang][row["reason"]])
    elif not shown.forms:
        notes.append(words["no reports"])
    # All but the first are numbers and texts of this module: nothing to escape.
    lines = "".join(f'<div style="line-height:1.4">{note}</div>' for note in notes)
    gap = '<div style="height:1.2em"></div>'
    return lines + "".join(gap + form._repr_html_() for form in shown.forms)


def _state(row: dict[str, Any], lang: Lang) -> str:
    words = _WORDS[lang]
    if row["superseded_by"] is not None:
        return words["superseded"]
    return words["counts"] if row["reason"] is None else cells.REASON_TEXTS[lang][row["reason"]]


def _numbered(row: dict[str, Any], lang: Lang) -> list[str]:
    return [_WORDS[lang]["statement"].format(id=row["statement_id"])]


def _filer(row: dict[str, Any], lang: Lang) -> list[str]:
    """Return whose statement it is, if not the unit's own: the name of a fund, possibly untrusted.

    Else the units that it is of.
    """
    of_several = [_WORDS[lang][name] for name in ("central_government", "summary") if row[name]]
    return [*([] if row["fund"] is None else [row["fund"]]), *of_several]


def _filed(row: dict[str, Any], lang: Lang) -> list[str]:
    filed = row["filed"]
    return [_WORDS[lang]["on"].format(day=day_text(filed, lang))] if filed else []
