"""Units found by a name or a number: those that match a text, and the one that is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from finstat_kit import arguments
from finstat_kit.client.collections.fetching import get_records, records_with_gaps
from finstat_kit.client.collections.looked_up import INVENTED
from finstat_kit.client.source import Allowance, Source
from finstat_kit.errors import invalid, value_in_python, warn
from finstat_kit.frames.text import unit_names
from finstat_kit.protocol import wire
from finstat_kit.protocol.company_numbers import DIC, digits_in, with_zeros

_MATCHES: Final = pl.Schema({"id": pl.Int64(), "matched_by": unit_names.MATCHED_BY})
_MOST_UNITS_LISTED: Final = 10  # units in an error


def find(source: Source, text: str | Sequence[str] | pl.Series, limit: int | None) -> pl.DataFrame:
    """Return the units that match a text, or each of several; see `Units.find`."""
    limit = None if limit is None else arguments.whole("limit", limit, 1, wire.MAX_ID)
    several = isinstance(text, list | tuple | pl.Series)
    texts: list[str] = list(text) if several else [text]  # type: ignore[list-item]
    if all(isinstance(one, str) for one in texts):  # else an error names it
        texts = list(dict.fromkeys(texts))
    absent, found = list[str](), [_MATCHES.to_frame().with_columns(given=pl.lit(""))]
    for one in texts:
        matches, numbers = matching_units(source, one, limit)
        found.append(matches.with_columns(given=pl.lit(one)))
        if not numbers:
            absent.append(one)
        if len(numbers) > 1:
            kinds = " and ".join(f"by {kind} ({n:,})" for kind, n in numbers.items())
            warn(f"units match {value_in_python(one)} {kinds}: see the column matched_by")
        if matches.height < (number := sum(numbers.values())):
            best = f"the {matches.height:,} best of {number:,} units that match"
            warn(f"{best}; a greater limit returns more")
    why = source.why_missing("units", found[0]["id"])
    why += f": {INVENTED}" if source.invented else ""
    if absent and (several or why):
        shown = ", ".join(map(value_in_python, absent[:5])) + (" …" if len(absent) > 5 else "")
        share = f" {len(absent):,} of {len(texts):,} texts:" if several else ""
        warn(f"no unit matches{share} {shown}{why}")
    matches = pl.concat(found)
    records = get_records("units", matches["id"], source, Allowance(progress=False), null_rows=True)
    return records.with_columns(matches.select("matched_by", *(["given"] if several else [])))


def matching_units(
    source: Source, text: str, limit: int | None, argument: str = "text"
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the units that match a text, and how many there are.

    Args:
        source: What answers.
        text: As given, see `Units.find`.
        limit: Maximum number of units, None for all.
        argument: What the text is given by.

    Returns:
        ``id`` and ``matched_by``, best first, each unit once; the number of all units by the kind
        of match, without those of which there are none.
    """
    arguments.sought(argument, text, "words of a name, an IČO, a DIČ or an id, as text")
    meanings = numbers_meant(text)
    rows = [(id_, kind) for kind, _, id_ in source.numbered([*meanings.items()], progress=False)]
    matches = pl.DataFrame(rows, _MATCHES, orient="row").sort("matched_by", "id")
    matches = matches.unique("id", keep="first", maintain_order=True)
    named = 0
    if (names := source.names()) is not None:
        others = names.filter(~pl.col("id").is_in(matches["id"].implode()))
        # An id has few digits, with which hundreds of words may begin.
        ids, named = unit_names.matching(others, text, limit, whole=matches.height > 0)
        matches = pl.concat([matches, _matches(ids, "name")])
    elif not meanings:
        raise invalid(
            argument,
            ...,
            f": {value_in_python(text)} is a name, and the register has no search for names",
            cure="search a mirror, fk.use('mirror:FOLDER') after fk.Mirror('FOLDER').sync(), or "
            "give an IČO",
        )
    numbers = dict(matches["matched_by"].value_counts(sort=False).sort("matched_by").iter_rows())
    numbers |= {"name": named} if named else {}
    return matches.head(matches.height if limit is None else limit), numbers


def numbers_meant(text: str) -> dict[str, str]:
    """Return what a text is as a number, by kind, as the register writes it; {} for other texts.

    >>> numbers_meant("61 387")
    {'id': '61387', 'ico': '00061387'}
    >>> numbers_meant("sk2020123456")
    {'dic': '2020123456'}
    """
    number = digits_in(text)
    if number is None:
        return {}
    digits, is_vat = number
    if is_vat:
        return {"dic": digits} if len(digits) in DIC else {}
    meanings = {}
    if str(int(digits)) == digits and int(digits) <= wire.MAX_ID:
        meanings["id"] = digits
    if (ico := with_zeros(digits)) is not None:
        meanings["ico"] = ico
    if len(digits) in DIC:
        meanings["dic"] = digits
    return meanings


def _matches(ids: pl.Series, kind: str) -> pl.DataFrame:
    return pl.DataFrame({"id": ids}).with_columns(matched_by=pl.lit(kind, unit_names.MATCHED_BY))


def unit_of(source: Source, text: str, argument: str, quoted: Callable[[str], str] = str) -> int:
    """Return the id of the only unit that matches a text; names count where no number matches.

    Args:
        source: What answers.
        text: As given, see `Units.find`.
        argument: What the text is given by.
        quoted: How an error shows what filers wrote.

    Raises:
        UsageError: There is none, or there are several, of which the best matches are listed.
    """
    matches, numbers = matching_units(source, text, _MOST_UNITS_LISTED, argument)
    if set(numbers) != {"name"}:
        matches = matches.filter(pl.col("matched_by") != "name")
        numbers.pop("name", None)
    records = records_with_gaps("units", matches["id"], source)
    cure = "give the IČO of one" + (", with all its zeros" if len(numbers) > 1 else " or its id")
    return int(one_unit(records, argument, text, sum(numbers.values()), cure, quoted)["id"].item())


def one_unit(
    records: pl.DataFrame,
    argument: str,
    value: object = ...,
    number: int | None = None,
    cure: str = "give the id of one",
    quoted: Callable[[str], str] = str,
) -> pl.DataFrame:
    """Return the record of one unit.

    Args:
        records: Records of units.
        argument: Name of the argument that names the unit.
        value: Its value.
        number: How many units there are, None for those given.
        cure: What to do where there are several.
        quoted: How an error shows what filers wrote.

    Raises:
        UsageError: There is none, or there are several, which are listed.
    """
    number = records.height if number is None else number
    if number == 1:
        return records
    if number == 0:
        raise invalid(argument, value, ": there is no such unit", give="an IČO or an id")
    lines = [
        ", ".join(filter(None, [str(id_), name and quoted(name), ico, place and quoted(place)]))
        for id_, name, ico, place in records.select("id", "nazovUJ", "ico", "mesto")
        .head(_MOST_UNITS_LISTED)
        .iter_rows()
    ]
    if number > len(lines):
        lines.append(f"… and {number - len(lines):,} more")
    raise invalid(
        argument, value, f": these are {number:,} units", cure="\n  ".join([f"{cure}:", *lines])
    )
