"""The search of units by name or number, in the data at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from finstat_kit.client.collections import walk
from finstat_kit.client.session import Session
from finstat_kit.errors import Either, UsageError, warn
from finstat_kit.frames.text import unit_names
from finstat_kit.protocol import wire

if TYPE_CHECKING:
    from finstat_kit.client.collections.units import Units

_KEYS: Final = {8: "ico", 12: "ico", 10: "dic"}  # by the number of digits
_LISTED: Final = 10  # units in an error


def matches(
    units: Units, text: str, limit: int | None, argument: str = "text"
) -> tuple[pl.Series, int]:
    """Return the ids of the units that match a text, best first, and how many there are.

    Args:
        units: Of the register.
        text: As given, see `Units.find`.
        limit: Maximum number of ids, None for all.
        argument: What the text is given by.
    """
    if not isinstance(text, str) or not any(sign.isalnum() for sign in text):
        raise UsageError(
            "is not allowed",
            argument=argument,
            value=text,
            cure="give words of a name, an IČO, a DIČ or an id, as text",
        )
    number = "".join(text.split())
    is_number = number.isascii() and number.isdigit() and int(number) <= wire.MAX_ID
    # An IČO that was read as a number has lost its zeros.
    for written in dict.fromkeys((number, number.zfill(8))) if is_number else ():
        if (ids := _of_number(units._session, written)).len():
            return ids.head(ids.len() if limit is None else limit), ids.len()
    if (names := units._names()) is not None:
        return unit_names.matching(names, text, limit)
    if is_number:
        return pl.Series("id", dtype=pl.Int64), 0
    raise UsageError(
        f": {text!r} is a name, and the register has no search for names",
        argument=argument,
        cure=Either(
            "search a mirror, fk.use('mirror:FOLDER') after fk.Mirror('FOLDER').sync(), or give an "
            "IČO, as text or by ico=",
            "search a mirror: --mirror FOLDER after finstat-kit sync FOLDER, or give an IČO",
        ),
    )


def searched(
    units: Units, text: str, limit: int | None, argument: str = "text"
) -> tuple[pl.Series, int]:
    """Return what `matches` returns; nothing in a mirror that is a part is not nothing at all."""
    ids, number = matches(units, text, limit, argument)
    copy = units._session.copy
    if number == 0 and copy is not None and (why := copy.why_missing("units", ids)):
        warn(f"no unit matches{why}")
    return ids, number


def _of_number(session: Session, number: str) -> pl.Series:
    """Return the ids of the units with an IČO, a DIČ or an id."""
    key = _KEYS.get(len(number), "id")
    if session.copy is not None and (records := session.copy.all_records("units")) is not None:
        value: int | str = int(number) if key == "id" else number
        return records.filter(pl.col(key) == value).select("id").collect()["id"].sort()
    if key == "id":  # the first one after the id below
        query = walk.query_of(session, "units", None, max(int(number) - 1, 0), 1)
        ids = walk.ids(session, "units", query, 1, progress=False)["id"]
        return ids.filter(ids == int(number))
    (filters,) = walk.filters_of(**{**dict.fromkeys(wire.FILTERS), key: number})
    query = walk.query_of(session, "units", None, filters=filters)
    return walk.ids(session, "units", query, progress=False)["id"]


def unit_of(units: Units, text: str, argument: str) -> int:
    """Return the id of the only unit that matches a text.

    Raises:
        UsageError: There is none, or there are several, of which the best matches are listed.
    """
    ids, number = searched(units, text, _LISTED, argument)
    records = units.get(ids, errors="keep", progress=False)
    return int(one_unit(records, argument, text, number)["id"].item())


def one_unit(
    records: pl.DataFrame, argument: str, value: object = ..., number: int | None = None
) -> pl.DataFrame:
    """Return the record of one unit.

    Args:
        records: Records of units.
        argument: Name of the argument that names the unit.
        value: Its value.
        number: How many units there are, None for those given.

    Raises:
        UsageError: There is none, or there are several, which are listed.
    """
    number = records.height if number is None else number
    if number == 1:
        return records
    if number == 0:
        raise UsageError(
            ": there is no such unit", argument=argument, value=value, cure="give an IČO or an id"
        )
    lines = [
        ", ".join([str(id_), *filter(None, texts)])
        for id_, *texts in records.select("id", "nazovUJ", "ico", "mesto").head(_LISTED).iter_rows()
    ]
    if number > len(lines):
        lines.append(f"… and {number - len(lines):,} more")
    raise UsageError(
        f": these are {number:,} units",
        argument=argument,
        value=value,
        cure="\n  ".join(["give the IČO or the id of one:", *lines]),
    )
