"""A list of the user's own matched with units, and the unit of a municipality itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import polars as pl

from finstat_kit import arguments, given_frames
from finstat_kit.client.collections.fetching import get_records, records_with_gaps, refuse_long_work
from finstat_kit.client.collections.listing import query_of, walked
from finstat_kit.client.collections.looked_up import NUMBERS
from finstat_kit.client.methods import reference
from finstat_kit.client.methods.financials import plan_of
from finstat_kit.client.source import Allowance, Source
from finstat_kit.errors import NotFound, UsageError, invalid, value_in_python, warn
from finstat_kit.frames.places import match_names
from finstat_kit.frames.units import matching
from finstat_kit.given_frames import AnyFrame
from finstat_kit.progress import bar
from finstat_kit.protocol.company_numbers import has_check_digit

# A misspelt name is compared with all others: 30 ms among 2.6 million.
_SECONDS_PER_NAME: Final = 12e-9
# The field of a record with the code of the seat, and the legal form of the unit itself.
_ITSELF: Final = {"municipality": ("sidlo", "801"), "region": ("kraj", "803")}


def match_units(
    source: Source,
    frame: AnyFrame,
    by: Mapping[str, str | None],
    allowance: Allowance,
    *,
    dry_run: bool,
) -> pl.DataFrame:
    """Match the rows of a frame with units; see `Register.match_units`."""
    rows = matching.columns(given_frames.collected("frame", frame), **by)
    # Those of a mirror are read at the first search.
    names = None if by["name"] is None else source.names()
    if names is None and by["ico"] is None:
        raise UsageError(
            "the register has no search for names",
            cure="give ico=, or match in a mirror: fk.use('mirror:FOLDER')",
        )
    matcher = matching.Matcher(rows, names)
    numbers = matcher.numbers()
    # A list for each number, and as a rule one record.
    expected = 2 * len(numbers)
    named = matcher.by_name()
    misspelt = matcher.misspelt(named)
    seconds = 0.0 if names is None else len(misspelt) * names.height * _SECONDS_PER_NAME
    if dry_run:
        plan = plan_of(source, {"units": (expected, None)})
        return plan.with_columns(pl.col("seconds_low", "seconds_high") + seconds)
    refuse_long_work(source, expected, allowance.max_requests)
    _warn_of_names(source, matcher.without_number(), has_names=names is not None)
    _warn_of_texts("values that are no IČO and no DIČ", matcher.unread)
    found = source.numbered(numbers, allowance.progress)
    numbered = pl.DataFrame(found, schema=NUMBERS, orient="row")
    ours = set(numbered["number"])
    missing = [number for kind, number in numbers if kind == "ico" and number not in ours]
    wrong = [ico for ico in missing if not has_check_digit(ico)]
    _warn_of_texts("numbers of no unit, with a wrong check digit (modulo 11)", wrong)
    with bar("names", len(misspelt), watched=seconds > 1, progress=allowance.progress) as advance:
        near = matcher.near(misspelt, advance)
    of_names = [id_ for ids in (*named.values(), *near.values()) for id_ in ids]
    ids = pl.Series("id", [*numbered["id"], *of_names], dtype=pl.Int64)
    records = records_with_gaps("units", ids.unique(maintain_order=True), source)
    return matcher.matches(numbered, named, near, records.select(matching.RECORD))


def _warn_of_texts(fault: str, texts: Sequence[str]) -> None:
    """Warn of values of the column of numbers, of which five are shown."""
    if texts:
        shown = ", ".join(value_in_python(text) for text in texts[:5])
        more = " …" if len(texts) > 5 else ""
        warn(f"{fault}: {len(texts):,}, {shown}{more}")


def _warn_of_names(source: Source, number: int, *, has_names: bool) -> None:
    """Warn where rows have a name alone, and names are not searched, or not those of all units."""
    why = ""
    if not has_names:
        why = "the register has no search for names: match them in a mirror"
    elif source.given is not None:
        why = "this mirror is a part of the register: a name may be another unit's too"
    if number and why:
        warn(f"{number:,} rows have no number, and {why}")


def town(
    source: Source, places: object, level: Literal["municipality", "region"], allowance: Allowance
) -> pl.DataFrame:
    """Return the records of municipalities or regions themselves; see `Units.town`."""
    arguments.one_of("level", level, tuple(_ITSELF))
    given = [places] if isinstance(places, str) else places
    places_known = reference.locations(source)
    matches = match_names.match(places_known, given, level, "places")
    for name, how, candidates in matches.select("given", "how", "candidates").iter_rows():
        if how in ("ambiguous", "unknown", "missing"):
            names = _names_of(places_known, candidates)
            if len(names) > 1:
                raise invalid("places", name, ": several may be meant", give=f"one of {names}")
            meant = f"did you mean {names[0]!r}?" if names else "see fk.locations()"
            raise invalid("places", name, ": no such place is known", cure=meant)
    field, legal_form = _ITSELF[level]
    wanted = matches.select(code="code").unique(maintain_order=True)
    query = query_of(source, "units", legal_form_code=legal_form)
    ids = walked(source, query, progress=False)["id"]
    records = get_records("units", ids, source, allowance, null_rows=True)
    found = wanted.join(
        records.sort("id").with_columns(code=field), on="code", maintain_order="left_right"
    )
    each = wanted.join(found.group_by("code").len(), on="code", how="left").fill_null(0)
    for code, number in each.filter(pl.col("len") != 1).iter_rows():
        (place,) = _names_of(places_known, [code])
        ids_text = ", ".join(map(str, found.filter(pl.col("code") == code)["id"]))
        raise NotFound(
            f"{place} has no unit of the legal form {legal_form}"
            if number == 0
            else f"{place} has {number} units of the legal form {legal_form}: {ids_text}",
            cure="take the one that is meant by its id" if number else "",
        )
    return found.select(records.columns)


def _names_of(locations: pl.DataFrame, codes: Sequence[str]) -> list[str]:
    """Return the names of places, those that several have with their district."""
    places = pl.DataFrame({"code": codes}, {"code": pl.String}).join(
        locations, on="code", how="left", maintain_order="left"
    )
    is_shared = pl.col("name_sk").is_in(
        locations.filter(level="municipality")
        .filter(pl.col("name_sk").is_duplicated())["name_sk"]
        .implode()
    )
    with_district = pl.format("{}, okres {}", "name_sk", "district")
    name = pl.when(is_shared).then(with_district).otherwise("name_sk")
    return places.select(pl.coalesce(name, "code")).to_series().to_list()
