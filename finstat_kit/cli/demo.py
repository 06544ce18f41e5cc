"""The main job on the embedded register, shown in 80 columns; the same bytes on every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.register import Register, language_of_environment
from finstat_kit.client.sample import sample
from finstat_kit.frames.text import number_format

_WIDTH = 80
_BAR = 22
_NAMES = 34


def language(environment: Mapping[str, str]) -> Lang:
    """Return the language of FINSTAT_KIT_LANG, else English for an English locale, else Slovak."""
    if environment.get("FINSTAT_KIT_LANG"):
        return language_of_environment()
    # The first one set counts, as everywhere in POSIX.
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "")
    return "en" if locale.startswith("en") else "sk"


def lines(*, lang: Lang = "sk", changed_since: str = "2026-05-01") -> Iterator[str]:
    """Do the main job step by step and describe each step in a few lines."""
    reg = sample()
    since = arguments.changed_since(changed_since, lambda: reg.today).isoformat()
    yield repr(reg)
    yield "The units are invented, the codes and names of places are real."
    yield from _codelists(reg, lang)
    yield from _count(reg, lang, since)

    yield from _step("Ids, by page", f'fk.units.pages(changed_since="{since}", page_size=1_000)')
    pages = []
    for number, page in enumerate(reg.units.pages(changed_since=since, page_size=1_000), 1):
        pages.append(page)
        first, last = (page["id"][0], page["id"][-1]) if page.height else ("–", "–")
        height = number_format.whole(page.height, lang)
        yield f"   page {number}   {height:>6} ids, {first} to {last}"
    ids = pl.concat(pages)

    yield from _step("The records behind the ids", "units = fk.units.get(ids)")
    units = reg.units.get(ids)
    yield (
        f"   {number_format.whole(units.height, lang)} records of {units.width} columns, in "
        f"{number_format.whole(reg.stats.requests, lang)} requests so far"
    )
    yield from _counts(reg, units, lang)
    yield ""
    yield "Next, in Python:"
    yield "   import finstat_kit as fk"
    yield "   fk.use(fk.sample())          # this register; the real one: fk.use(fk.LIVE)"
    yield "   fk.resolve_labels(fk.units.get(fk.units.ids(limit=5)))"


def _step(title: str, call: str) -> Iterator[str]:
    yield ""
    yield f"{title}{call:>{_WIDTH - len(title)}}"


def _codelists(reg: Register, lang: Lang) -> Iterator[str]:
    yield from _step("Codelists", "fk.regions(), fk.districts() …")
    for name, endpoint, *_ in reg.codelist().iter_rows():
        frame = reg.codelist(name)
        example = frame.row(0, named=True)
        yield (
            f"   {name:<16}{number_format.whole(frame.height, lang):>5}   {endpoint:<27}"
            f"{example['code']} {example[f'name_{lang}']}"
        )[:_WIDTH]


def _count(reg: Register, lang: Lang, since: str) -> Iterator[str]:
    yield from _step(f"Units changed since {since}", f'fk.units.count(changed_since="{since}")')
    changed, everything = reg.units.count(changed_since=since), reg.units.count()
    yield f"   {number_format.whole(changed, lang)} of {number_format.whole(everything, lang)}"


def _counts(reg: Register, units: pl.DataFrame, lang: Lang) -> Iterator[str]:
    yield from _step("Units by region", f'fk.count_by(units, "kraj", lang="{lang}")')
    counts = reg.count_by(units, "kraj", lang=lang)
    most = counts["share"].max() if counts.height else None
    for row in counts.iter_rows(named=True):
        name = f"{row['code'] or '–':<6}{row['label'] or '(' + row['kind'] + ')'}"
        bar = "█" * round(_BAR * row["share"] / most)
        yield (
            f"   {name:<{_NAMES}}{number_format.whole(row['count'], lang):>7}"
            f"{number_format.percent(row['share'], lang):>9}  {bar}"
        ).rstrip()
