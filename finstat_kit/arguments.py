"""Checks of values that users pass, before any request; an error names argument and cure."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final, Literal, get_args

from finstat_kit.errors import invalid, value_in_python
from finstat_kit.protocol.company_numbers import ICO, digits_in, visible, with_zeros
from finstat_kit.protocol.wire import BEGINNING, MAX_ID, ZONE

Lang = Literal["sk", "en"]
LATEST: Final = "latest"  # the last year with figures of each unit
Years = Sequence[int] | Literal["latest"] | None  # ascending; None is all of them
By = Literal[
    "kraj", "okres", "sidlo", "pravnaForma", "skNace", "druhVlastnictva", "velkostOrganizacie"
]
# Groups made from other columns as well as code fields.
Grouping = By | Literal["section", "division", "age", "size_by_law"]
Since = str | date | timedelta | None
Span = str | float | timedelta
_SPAN: Final = re.compile(r"-[0-9]{1,6}d", re.ASCII)
_A_DAY: Final = "'YYYY-MM-DD' or a datetime.date"
_A_DAY_OR_SPAN: Final = "'YYYY-MM-DD', a datetime.date, or '-30d' to count back"
FIRST_YEAR: Final = 1990  # years before and after are slips
LAST_YEAR: Final = 2100
_YEAR: Final = re.compile("[0-9]{4}", re.ASCII)
_UNSIGNED: Final = re.compile(r"\+?([0-9]{1,6}d)", re.ASCII)
_LASTS: Final = re.compile(r"([0-9]{1,9})(s|min|h|d)", re.ASCII)
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
LOOK_UP: Final = "look the unit up by its name or number: fk.units.find({})"
LONGEST_SOUGHT: Final = 200  # characters; for polars a search of a million is too large
_LONGEST: Final = timedelta(days=36_525)  # a century, longer than any register exists
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
# A scheme has two letters or more, the drive of Windows one; a `Path` keeps one slash of two.
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/", re.ASCII)


def day(name: str, value: object, give: str = _A_DAY) -> date:
    """Return a date given as text, date or datetime; an aware datetime in the register's zone."""
    # NaT of pandas is a datetime, and like that of numpy does not equal itself.
    if isinstance(value, datetime) and value == value:  # before date, which it also is
        return (value.astimezone(ZONE) if value.tzinfo else value).date()
    if isinstance(value, date) and value == value:
        return value
    if type(value).__name__ == "datetime64" and value == value:
        return date.fromisoformat(str(value)[:10])
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise invalid(name, value, "is not a valid date", give=give)


def changed_since(value: object, today: Callable[[], date] | None = None) -> date:
    """Return the day that ``changed_since`` names; None is the register's beginning.

    A duration is counted back from the register's day.
    """
    if value is None:
        return BEGINNING
    span = value
    if today is not None and isinstance(value, str) and _SPAN.fullmatch(value):
        span = timedelta(days=int(value[1:-1]))
    if today is not None and isinstance(span, timedelta):
        if timedelta(0) <= span <= _LONGEST:
            return today() - span
        raise invalid(
            "changed_since", value, "is not a valid duration", give=f"0 to {_LONGEST.days:,} days"
        )
    if isinstance(value, str) and (days := _UNSIGNED.fullmatch(value)):
        raise invalid(
            "changed_since", value, "is not a valid date", give=f"'-{days[1]}' to count back"
        )
    return day("changed_since", value, _A_DAY if today is None else _A_DAY_OR_SPAN)


def span(name: str, value: object) -> float:
    """Return a duration in seconds: a timedelta, ``"7d"``, ``"12h"``, ``"30min"``, or seconds."""
    seconds: object = value
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str) and (parts := _LASTS.fullmatch(value)):
        seconds = float(parts[1]) * _SECONDS[parts[2]]
    if (
        isinstance(seconds, int | float)
        and not isinstance(seconds, bool)
        and 0 <= seconds <= _LONGEST.total_seconds()
    ):
        return float(seconds)
    raise invalid(
        name, value, "is not a valid duration", give="a timedelta, '7d', '12h', '30min' or seconds"
    )


def path(name: str, value: object, example: str) -> Path:
    """Return the path in an argument, which need not exist yet."""
    text = os.fsdecode(value) if isinstance(value, str | os.PathLike) else ""
    # An empty name, often an unset variable, would mean the current directory.
    if text and "\0" not in text and _encodes(text, os.fsencode):
        return Path(text)
    raise invalid(name, value, "is not a path", give=f"one such as {example!r}")


def file(name: str, value: object) -> Path:
    """Return the path of a file, which need not exist yet."""
    file_path = path(name, value, "ruz.cache")
    try:
        is_folder = file_path.is_dir()
    except OSError as error:  # for example, the name is too long
        raise invalid(name, ..., f"is not a path: {error.strerror}") from error
    if is_folder:
        raise invalid(name, str(file_path), "is a folder", give="the path of a file in it")
    return file_path


def exists(path: str | Path) -> bool:
    """Return whether a path exists; a path that the system refuses does not."""
    return os.path.exists(path)  # noqa: PTH110 - pathlib raises


def refuse_url(name: str, path: str | Path, prefix: str = "") -> None:
    """Refuse a URL as the directory of a mirror.

    Args:
        name: Name of the argument.
        path: Its value.
        prefix: The part of the value before the path.
    """
    url = path if isinstance(path, str) else path.as_posix()
    if not _URL.match(url):
        return
    if "://" not in url:
        url = url.replace(":/", "://", 1)
    raise invalid(
        name,
        prefix + url,
        "is a URL, and a mirror is written and opened in a local directory only",
        cure="sync to one, copy it there (such as with rclone), and read the copy with polars or "
        "DuckDB",
    )


def whole(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number between two bounds."""
    try:
        if isinstance(value, bool) or type(value).__name__ == "bool":  # numpy's is not a subclass
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        if name == "unit" and isinstance(value, str):
            raise invalid(name, value, "is not an id", cure=LOOK_UP.format(value_in_python(value)))
        allowed = f"{low} or more" if high == MAX_ID else f"{low} to {high}"
        raise invalid(name, value, "is not allowed", give=f"a whole number, {allowed}")
    return number


def years(name: str, value: object) -> list[int]:
    """Return a year or several, each once, ascending."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    each: Iterable[object] = value if several else [value]  # type: ignore[assignment]
    # One by one: the first that is none ends it, however many follow.
    numbers = (int(x) if isinstance(x, str) and _YEAR.fullmatch(x) else x for x in each)
    ordered = sorted({whole(name, one, FIRST_YEAR, LAST_YEAR) for one in numbers})
    if not ordered:
        raise invalid(name, ..., ": it is empty", give="a year, several, or None for all")
    return ordered


def given_years(years: Years) -> Sequence[int] | None:
    """Return the years that are named, None where they are not known beforehand."""
    return None if isinstance(years, str) else years


def lang(value: object, name: str = "lang") -> Lang:
    """Return the language of labels."""
    if not isinstance(value, str) or value not in get_args(Lang):
        raise invalid(name, value, "is not known", give="'sk' or 'en'")
    return value  # type: ignore[return-value]


def text(name: str, value: object) -> str:
    """Return a text; refuse anything else, lone surrogates included: no file can hold them."""
    if isinstance(value, str) and _encodes(value, str.encode):
        return value
    raise invalid(name, value, "is not a text", give="a str")


def sought(name: str, value: object, give: str) -> str:
    """Return a text that is searched for: short, and with a letter or a digit."""
    if isinstance(value, str) and len(value) > LONGEST_SOUGHT:
        fault = f"has {len(value):,} characters"
        raise invalid(name, value, fault, give=f"at most {LONGEST_SOUGHT}")
    if not isinstance(value, str) or not any(sign.isalnum() for sign in value):
        raise invalid(name, value, "is not allowed", give=give)
    return text(name, value)


def _encodes(text: str, encode: Callable[[str], bytes]) -> bool:
    try:
        encode(text)
    except UnicodeError:
        return False
    return True


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value outside the allowed ones."""
    if not isinstance(value, str) or value not in allowed:  # a frame has no truth value
        cure = f"{near(value, allowed)}give one of {list(allowed)}"
        raise invalid(name, value, "is not known", cure=cure)


def near(value: object, choices: Iterable[str]) -> str:
    """Return the beginning of a cure: the known names that a misspelt one is near to, if any.

    >>> near("equity_rato", ["equity", "equity_ratio", "sales"])
    "did you mean 'equity_ratio' or 'equity'? "
    """
    import difflib  # only an error needs it

    written = {name.casefold(): name for name in choices}
    matches = difflib.get_close_matches(value.casefold(), written) if isinstance(value, str) else []
    quoted = " or ".join(repr(written[name]) for name in matches)
    return f"did you mean {quoted}? " if quoted else ""


def names(name: str, value: object) -> list[str]:
    """Return one name or several, each given once."""
    several = [value] if isinstance(value, str) else value
    given_names = list(several) if isinstance(several, Iterable) else []
    if not given_names or not all(isinstance(one, str) for one in given_names):
        raise invalid(name, value, "is not allowed", give="a name, or several in a list")
    if repeated := [one for place, one in enumerate(given_names) if one in given_names[:place]]:
        raise invalid(name, ..., f": {repeated[0]!r} appears twice", give="each name once")
    return given_names


def digits(name: str, value: object, lengths: tuple[int, ...]) -> str:
    """Return a number that is kept as text because its leading zeros count.

    Blanks and invisible characters in it do not count.
    """
    text = visible(value) if isinstance(value, str) else ""
    if text.isascii() and text.isdigit() and len(text) in lengths:
        return text
    allowed = " or ".join(map(str, lengths))
    cure = f"a text of {allowed} digits, leading zeros included"
    number, is_vat = _written(value)
    meant = number if len(number) in lengths else None
    if lengths == ICO:
        meant = None if is_vat else with_zeros(number)
    cure = f"give {cure}" if meant is None else f"give {meant!r}, {cure}"
    raise invalid(name, value, "is not allowed", cure=cure)


def _written(value: object) -> tuple[str, bool]:
    """Return the digits of a number, given as a number or as text, and whether it is one for VAT.

    Other values have no digits.
    """
    if isinstance(value, float) and value.is_integer():  # of a pandas column with a gap
        value = int(value)
    if isinstance(value, int) and not 0 <= value <= MAX_ID:
        return "", False
    return (digits_in(str(value)) if isinstance(value, str | int) else None) or ("", False)


def legal_form_code(value: object) -> str:
    """Return a code of `legal_forms`."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,4}", value, re.ASCII):
        return value
    raise invalid(
        "legal_form_code",
        value,
        "is not a code",
        give="one such as '112', see fk.codelist('legal_forms')",
    )


def positive(name: str, value: object) -> float:
    """Return a number above zero."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**9:
        return float(value)
    raise invalid(name, value, "is not allowed", give="a number above zero")


# What names were called in drafts of 0.1; said until 0.2.
FORMER: Final = {
    "NotFound": "errors.NotFound",
    "Interrupted": "errors.Interrupted",
    "codelists": "codelist",
    "templates": "template",
    "cells": "reports.cells",
    "check_reports": "reports.check",
    "attachments": "reports.files",
    "download": "reports.download",
    "statement_history": "statement",
    "of_place": "town",
}


def no_attribute(owner: str, name: str, names: Iterable[str]) -> AttributeError:
    """Return the error of a name that is not there, with what it is called now or the near names.

    >>> no_attribute("fk", "check_reports", ["reports"])
    AttributeError('fk has no check_reports: it is fk.reports.check now')
    >>> no_attribute("fk", "financial", ["financials", "filings"])
    AttributeError("fk has no financial: did you mean 'financials'?")
    """
    now = FORMER.get(name, "")
    if now.partition(".")[0] in names:
        return AttributeError(f"{owner} has no {name}: it is {owner}.{now} now")
    public = () if name.startswith("_") else (one for one in names if not one.startswith("_"))
    meant = near(name, public).rstrip()
    return AttributeError(f"{owner} has no {name}{': ' * bool(meant)}{meant}")
