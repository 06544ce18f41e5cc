"""The checks of a register, each by the public calls that a user makes."""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache, partial
from importlib.metadata import version
from itertools import islice
from typing import Final, NamedTuple

import polars as pl

from finstat_kit.client.collections.collection import Collection
from finstat_kit.client.register import LIVE, Register
from finstat_kit.client.sample import sample
from finstat_kit.errors import NotFound
from finstat_kit.frames.financials import items
from finstat_kit.protocol import wire

_PAGE: Final = 1_000
_SHORT_PAGE: Final = 50
_RECORDS: Final = 8
_FEW_LABELS: Final = 0.2  # of the codes may have none
_SHOWN: Final = 50  # rows of forms that differ
_UNKNOWN: Final = 2**31 - 1  # the largest id of 32 bits: any service can read it, no unit has it
_DAY: Final = timedelta(days=1)
_NO_TABLES: Final = (
    "template_missing", "template_mismatch", "no_tables_in_template", "length_mismatch"
)  # fmt: skip
_LISTS: Final = tuple(wire.CODELISTS)
_PARENTS: Final = {"districts": "regions", "municipalities": "districts"}


class Examined:
    """A register, and the records that several checks look at."""

    def __init__(self, register: Register) -> None:
        self.register = register
        self.records = cache(self._records)

    def _records(self, name: str) -> pl.DataFrame:
        """Return some records of the first page of a collection."""
        collection: Collection = getattr(self.register, name)
        ids = next(collection.pages(page_size=_PAGE))
        spread = ids.gather_every(max(ids.height // _RECORDS, 1)).head(_RECORDS)
        return collection.get(spread)


Seen = tuple[str, bool]  # what was seen, and whether it is what is expected


def _codelist(name: str, of: Examined) -> Seen:
    entries = of.register.codelist(name, refresh=True)
    odd = pl.any_horizontal(pl.col("name_sk", "name_en").is_null())
    if name in _PARENTS:
        above = of.register.codelist(_PARENTS[name])["code"]
        odd |= ~pl.col("parent_code").is_in(above.implode())
    number = entries.filter(odd).height
    seen = f"{entries.height:,} entries" + f", {number:,} without a name or parent" * bool(number)
    return seen, entries.height > 0 and not number


def _collection(name: str, of: Examined) -> Seen:
    collection: Collection = getattr(of.register, name)
    count = collection.count()
    return f"{count:,} ids, {of.records(name).height} records read", count > 0


def _pages(of: Examined) -> Seen:
    ids, total, after = _two_pages(of, _PAGE)
    beyond = of.register.units.ids(after_id=wire.MAX_ID, limit=1).height
    seen = f"{ids.len():,} ids on two pages, {after:,} of {total:,} after them, {beyond} at the end"
    return seen, ids.len() + after == total and not beyond and (ids.len() == 2 * _PAGE or not after)


def _window(of: Examined) -> Seen:
    first = of.register.today - timedelta(days=30)
    ids, before, after = _two_pages(of, _SHORT_PAGE, first)
    days = of.register.units.get(ids[-1:])["datumPoslednejUpravy"].drop_nulls()
    seen = f"{before:,} ids since {first}, {ids.len():,} on two pages, {after:,} after them"
    return seen, before == ids.len() + after and bool((days >= first).all())


def _two_pages(of: Examined, size: int, since: date | None = None) -> tuple[pl.Series, int, int]:
    """Return the ids of two pages, and the counts of all ids and of those after them."""
    units = of.register.units
    pages = units.pages(changed_since=since, page_size=size)
    ids = pl.concat(islice(pages, 2))["id"]
    after = units.count(changed_since=since, after_id=pages.cursor)
    return ids, units.count(changed_since=since), after


def _day(of: Examined) -> Seen:
    changed = of.records("units").filter(pl.col("datumPoslednejUpravy") < of.register.today).head(1)
    listed = [
        id_ in of.register.units.ids(changed_since=first, after_id=max(id_ - 1, 0), limit=1)["id"]
        for id_, day in changed.select("id", "datumPoslednejUpravy").rows()
        for first in (day, day + _DAY)
    ]
    texts = [f"{'' if there else 'not '}listed" for there in listed] or ["no unit", "no unit"]
    return f"{texts[0]} for its day, {texts[1]} for the next", listed in ([True, False], [])


def _filters(of: Examined) -> Seen:
    units, named = of.register.units, of.records("units").select("id", "ico", "pravnaForma")
    for id_, ico, form in named.drop_nulls().head(1).rows():
        of_ico = units.ids(ico=ico, limit=_PAGE)["id"]
        of_form, total = units.count(legal_form_code=form), units.count()
        seen = f"{of_ico.len():,} of its IČO, {of_form:,} of {total:,} of its legal form"
        return seen, id_ in of_ico and of_ico.len() < _PAGE and 0 < of_form < total
    return "no unit", True


def _labels(of: Examined) -> Seen:
    units = of.records("units")
    unknown = of.register.unresolved_codes(units, columns=list(wire.BY_FIELD))
    lost = {field: unknown.filter(column=field)["count"].sum() for field in wire.BY_FIELD}
    few = [field for field in lost if lost[field] > _FEW_LABELS * units[field].count()]
    codes = sum(units[field].count() for field in lost)
    seen = f"{codes - sum(lost.values())} of {codes} codes"
    return seen + f"; too few of {', '.join(few)}" * bool(few), not few


def _forms(of: Examined) -> Seen:
    shipped, differing = sample(0), list[str]()
    row = pl.col("number").cast(pl.String).fill_null("")
    text = pl.col("label_sk").str.split(" ").list.eval(pl.element().filter(pl.element() != ""))
    printed = pl.concat_str(row, pl.lit(" “"), text.list.join(" "), pl.lit("”"))
    for template in items.TEMPLATES:
        here, there = (
            register.template(template).select("table", "row", printed=printed)
            for register in (shipped, of.register)
        )
        both = here.join(there, on=("table", "row"), how="full", suffix="_there")
        for ours, theirs in both.select("printed", "printed_there").rows():
            if ours != theirs:
                differing.append(f"{template}: {theirs} instead of {ours}")
    more = [f"and {len(differing) - _SHOWN:,} more"] if len(differing) > _SHOWN else []
    good = f"{len(items.TEMPLATES)} forms as in the package"
    return "; ".join([*differing[:_SHOWN], *more]) or good, not differing


def _tables(of: Examined) -> Seen:
    checked = of.register.reports.check(of.records("reports"))
    why = pl.col("reasons").list.eval(
        pl.element().struct["reason"].cast(pl.String).is_in(_NO_TABLES)
    )
    others = checked.filter(why.list.any().fill_null(value=False))
    seen = f"{checked.height - others.height} of {checked.height} reports fit"
    templates = ", ".join(map(str, others["template"].unique().sort()))
    return seen + f"; not those of {templates}" * bool(templates), others.is_empty()


def _unknown_id(of: Examined) -> Seen:
    try:
        of.register.units.get(_UNKNOWN)
    except NotFound:
        return "no record", True
    return "a record", False


def _versions(of: Examined) -> Seen:
    register = of.register
    kind = "the live register" if register.base_url == LIVE else "another register"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("finstat-kit", "polars", "httpx"))
    system = f"Python {platform.python_version()}, {platform.system()}"
    kind = "invented data" if register.invented else kind
    return f"{libraries}, {system}; {kind}", True


class Check(NamedTuple):
    """A check: what it looks at, what is expected, and what a difference means.

    Attributes:
        name: Its name.
        look: Returns what is seen, and whether it is as expected.
        expected: What is expected.
        meaning: Of a difference, or of an error.
        difference: The status of a difference; an error is a ``fail``.
    """

    name: str
    look: Callable[[Examined], Seen]
    expected: str
    meaning: str
    difference: str = "warn"


_NAMES: Final = "entries with a name in both languages, and a known parent"
_READ: Final = "a count, ids that ascend, records that can be read"
_REFUSED: Final = "the client refuses this list or a record"
_CHANGES: Final = "lists of changes have other ids: give an earlier day"
_CODES: Final = f"{1 - _FEW_LABELS:.0%} of the codes or more are in their codelists"
CHECKS: Final = (
    *(Check(name, partial(_codelist, name), _NAMES, "labels may be missing") for name in _LISTS),
    *(Check(name, partial(_collection, name), _READ, _REFUSED) for name in wire.LISTS),
    Check("pages", _pages, "full pages up to the end, and counts that fit", "bars will be wrong"),
    Check("change window", _window, "its day holds on the second page", _CHANGES, "fail"),
    Check("day of change", _day, "a unit is listed for its day, not the next", _CHANGES, "fail"),
    Check("filters", _filters, "the IČO of a unit lists it; its form some", "not to use", "fail"),
    Check("labels", _labels, _CODES, "codes and codelists have drifted apart"),
    Check("forms", _forms, "rows and captions as in the package", "items of such rows are null"),
    Check("tables", _tables, "as many cells as the form has", "such reports give no numbers"),
    Check("unknown id", _unknown_id, "status 404, an empty body", "another error than NotFound"),
    Check("versions", _versions, "those of this machine", ""),
)
