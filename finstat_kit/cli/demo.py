"""The main job on the embedded register, shown in 80 columns; the same bytes on every run."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from finstat_kit.arguments import Lang
from finstat_kit.client.sample import sample
from finstat_kit.frames.text.number_format import percent, whole

_WIDTH = 80
_BAR = 22
_NAMES = 34
_SINCE = "2026-05-01"


def lines(lang: Lang | None = None) -> Iterator[str]:
    """Do the main job step by step and describe each step in a few lines."""
    reg = sample(lang=lang)
    lang = reg.lang
    yield repr(reg)
    yield "The units are invented, the codes and names of places are real."
    yield from _step("Codelists", "fk.regions(), fk.districts() …")
    for name, endpoint, *_ in reg.codelist().iter_rows():
        frame = reg.codelist(name)
        example = frame.row(0, named=True)
        yield (
            f"   {name:<16}{whole(frame.height, lang):>5}   {endpoint:<27}"
            f"{example['code']} {example[f'name_{lang}']}"
        )[:_WIDTH]

    yield from _step(f"Units changed since {_SINCE}", f'fk.units.count(changed_since="{_SINCE}")')
    changed, everything = reg.units.count(changed_since=_SINCE), reg.units.count()
    yield f"   {whole(changed, lang)} of {whole(everything, lang)}"

    yield from _step("Ids, by page", f'fk.units.pages(changed_since="{_SINCE}", page_size=1_000)')
    pages = list(reg.units.pages(changed_since=_SINCE, page_size=1_000))
    for number, page in enumerate(pages, 1):
        height = whole(page.height, lang)
        yield f"   page {number}   {height:>6} ids, {page['id'][0]} to {page['id'][-1]}"

    yield from _step("The records behind the ids", "units = fk.units.get(ids)")
    units = reg.units.get(pl.concat(pages))
    yield (
        f"   {whole(units.height, lang)} records of {units.width} columns, in "
        f"{whole(reg.stats.requests, lang)} requests so far"
    )

    yield from _step("Units by region", f'fk.count_by(units, "kraj", lang="{lang}")')
    counts = reg.count_by(units, "kraj")
    for row in counts.iter_rows(named=True):
        name = f"{row['code'] or '–':<6}{row['label'] or '(' + row['kind'] + ')'}"
        bar = "█" * round(_BAR * row["share"] / counts["share"][0])
        yield (
            f"   {name:<{_NAMES}}{whole(row['count'], lang):>7}"
            f"{percent(row['share'], lang):>9}  {bar}"
        ).rstrip()
    yield ""
    yield "Next, in Python:"
    yield "   import finstat_kit as fk"
    yield "   fk.use(fk.sample())          # this register; the real one: fk.use(fk.LIVE)"
    yield "   fk.resolve_labels(fk.units.get(fk.units.ids(limit=5)))"


def _step(title: str, call: str) -> Iterator[str]:
    yield ""
    yield f"{title}{call:>{_WIDTH - len(title)}}"
