"""Checks of arguments and of calls, before any request; an error names argument, value and fix."""

from __future__ import annotations

import difflib
import inspect
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, Final, Literal, ParamSpec, Protocol, TypeVar, get_args

import polars as pl

from finstat_kit.errors import UsageError, invalid, value_in_python
from finstat_kit.protocol import wire
from finstat_kit.protocol.company_numbers import ICO, digits_in, visible, with_zeros
from finstat_kit.protocol.wire import BEGINNING, MAX_ID, ZONE

Lang = Literal["sk", "en"]
By = Literal[
    "kraj", "okres", "sidlo", "pravnaForma", "skNace", "druhVlastnictva", "velkostOrganizacie"
]
# Groups made from other columns as well as code fields.
Grouping = By | Literal["section", "division", "age", "size_by_law"]


class ArrowStream(Protocol):
    """A frame of any library that exports an Arrow stream, such as one of pandas."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream."""


AnyFrame = (
    pl.DataFrame | pl.LazyFrame | ArrowStream | Mapping[str, Any] | Sequence[Mapping[str, Any]]
)
# One kind of frame in, the same out.
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Since = str | date | timedelta | None
Span = str | float | timedelta
# Whole numbers in frames of this package; in pandas they are floats where one is missing.
_WHOLE: Final = frozenset({
    "id", "unit_id", "idUJ", "statement_id", "report_id", "superseded_by", "idSablony",
    "idUctovnejZavierky", "idVyrocnejSpravy", "year", "months", "periods_in_year", "supersedes",
    "template", "table", "row", "column", "number", "count", "sums_failing",
})  # fmt: skip
_SPAN: Final = re.compile(r"-[0-9]{1,6}d", re.ASCII)
_A_DAY: Final = "'YYYY-MM-DD' or a datetime.date"
_A_DAY_OR_SPAN: Final = "'YYYY-MM-DD', a datetime.date, or '-30d' to count back"
FIRST_YEAR: Final = 1990  # years before and after are slips
LAST_YEAR: Final = 2100
_YEAR: Final = re.compile("[0-9]{4}", re.ASCII)
_UNSIGNED: Final = re.compile(r"\+?([0-9]{1,6}d)", re.ASCII)
_LASTS: Final = re.compile(r"([0-9]{1,9})(s|min|h|d)", re.ASCII)
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
_FOUND: Final = "look the unit up by its name or number: fk.units.find({})"
# By collection: columns that name its records where they are not its own, and those that its own
# records never have.
_NAMED_IN: Final = {
    "units": ("idUJ", "unit_id"),
    "statements": ("idUctovnychZavierok", "idUctovnejZavierky", "statement_id"),
    "reports": ("idUctovnychVykazov", "report_ids", "report_id"),
    "annual_reports": ("idVyrocnychSprav", "idVyrocnejSpravy"),
}
# The two last are of files and of templates.
_FOREIGN: Final = {
    "units": {"idUJ", "idUctovnejZavierky", "velkostPrilohy", "decree"},
    "statements": {
        "idUctovnychZavierok", "idUctovnejZavierky", "pristupnostDat", "prilohy", "velkostPrilohy",
        "decree",
    },
    "reports": {"idUctovnychVykazov", "idUctovnychZavierok", "velkostPrilohy", "decree"},
    "annual_reports": {
        "idVyrocnychSprav", "idVyrocnejSpravy", "datumZostavenia", "velkostPrilohy", "decree",
    },
}  # fmt: skip
LONGEST_SOUGHT: Final = 200  # characters; for polars a search of a million is too large
_LONGEST: Final = timedelta(days=36_525)  # a century, longer than any register exists
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
# A scheme has two letters or more, the drive of Windows one; a `Path` keeps one slash of two.
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/", re.ASCII)
P = ParamSpec("P")
T = TypeVar("T")
_SWITCHES: Final = {"bool": "give True or False", "bool | None": "give True, False or None"}
# Parameters that take frames or columns, by their annotations.
_FRAMES: Final = re.compile(r"\b(?:DataFrame|LazyFrame|Series|Frame|AnyFrame|Given)\b")
_CALLED_UPPER_BOUND: Final = ("changed_until", "changed_before", "until", "to", "to_date", "before")


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
            "changed_since",
            value,
            "is not a valid date",
            give=f"'-{days[1]}' to count back",
        )
    return day("changed_since", value, _A_DAY if today is None else _A_DAY_OR_SPAN)


def is_span(value: object) -> bool:
    """Return whether a valid ``changed_since`` is counted back from the register's day."""
    return isinstance(value, timedelta) or (isinstance(value, str) and value.startswith("-"))


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
        name,
        value,
        "is not a valid duration",
        give="a timedelta, '7d', '12h', '30min' or seconds",
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
            raise invalid(name, value, "is not an id", cure=_FOUND.format(value_in_python(value)))
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


def several_digits(name: str, value: object, lengths: tuple[int, ...]) -> list[str]:
    """Return one number of `digits` or several, each once."""
    value = polars_of(name, value)
    several = list(value) if isinstance(value, list | tuple | set | pl.Series) else [value]
    if not several:
        raise invalid(name, ..., "is empty", give="a number, or None for all")
    return list(dict.fromkeys(digits(name, one, lengths) for one in several))


def _written(value: object) -> tuple[str, bool]:
    """Return the digits of a number, given as a number or as text, and whether it is one for VAT.

    Other values have no digits.
    """
    if isinstance(value, float) and value.is_integer():  # of a pandas column with a gap
        value = int(value)
    if isinstance(value, int) and not 0 <= value <= MAX_ID:
        return "", False
    return (digits_in(str(value)) if isinstance(value, str | int) else None) or ("", False)


def legal_form_codes(value: object) -> list[str]:
    """Return one code of `legal_forms` or several, each once."""
    several = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    if not several:
        raise invalid("legal_form_code", ..., "is empty", give="a code, or None for all")
    return sorted({legal_form_code(code) for code in several})


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


def not_polars(name: str, value: object, expected: str = "a frame") -> UsageError:
    """Return the error for a value that is no frame; *expected* is what is."""
    kind, module = type(value).__name__, type(value).__module__.partition(".")[0]
    if isinstance(value, int) and name in ("report", "reports"):
        return invalid(name, value, "is an id", give=f"its record: fk.reports.get({value})")
    cure = f"{expected}: of polars, pandas or Arrow, a list of dicts or a dict of columns"
    if isinstance(getattr(value, "frame", None), pl.DataFrame):  # such as a statement over years
        cure = "the polars DataFrame in it, .frame"
    elif expected != "a frame":
        cure = expected
    whose = "" if module == "builtins" else f"{module} "
    article = "an" if whose == "" and kind[0] in "aeiou" else "a"
    return invalid(name, ..., f"is {article} {whose}{kind}", give=cure)


def polars_of(name: str, value: object) -> object:
    """Return a frame or a column from anywhere as one of polars, and any other value as it is.

    The one door for frames: of pandas, whatever exports an Arrow stream, a list of dicts, a dict of
    columns; a numpy array becomes a list.

    Raises:
        UsageError: It is a frame that polars cannot hold.
    """
    if value is None or isinstance(value, pl.DataFrame | pl.LazyFrame | pl.Series | str | int):
        return value
    if isinstance(value, tuple) and any(isinstance(part, pl.DataFrame) for part in value):
        raise invalid(
            name,
            ...,
            "is a tuple",
            give="one of the frames in it, as in: panel, flows = fk.panel(figures)",
        )
    modules = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    try:
        if "pandas" in modules and hasattr(value, "isna"):
            return _of_pandas(value)
        if hasattr(value, "__arrow_c_stream__"):
            column = pl.Series(value)
            return column.struct.unnest() if isinstance(column.dtype, pl.Struct) else column
        if "numpy" in modules and hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, Mapping):
            return pl.DataFrame(dict(value), strict=False)
        if isinstance(value, list | tuple) and value and all(isinstance(x, Mapping) for x in value):
            return pl.DataFrame(list(value), infer_schema_length=None, strict=False)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise invalid(name, ..., f"cannot be read as a frame: {reason}") from error
    return value


def _of_pandas(value: Any) -> pl.DataFrame | pl.Series:  # noqa: ANN401 - pandas is not imported
    """Return a frame of pandas, with the levels of its index that have a name, or a column.

    pyarrow is not needed.
    """
    if not hasattr(value, "columns"):
        return _column("" if value.name is None else str(value.name), value)
    levels = [x for x in value.index.names if x is not None and x not in value.columns]
    table = value.reset_index(level=levels) if levels else value
    columns = [_column(str(name), table.iloc[:, i]) for i, name in enumerate(table.columns)]
    return pl.DataFrame(columns)


def _column(name: str, column: Any) -> pl.Series:  # noqa: ANN401 - of pandas, too
    """Return a column of pandas, which has no type for days, and none for integers with a gap."""
    kind = getattr(column.dtype, "kind", "O") if "numpy" in str(type(column.dtype)) else "O"
    if kind == "M":
        moments = pl.Series(name, column.to_numpy().astype("datetime64[us]"))
        is_day = (moments.dt.time() == time()).all() and moments.null_count() < moments.len()
        return moments.cast(pl.Date) if is_day else moments
    if kind in "biuf":
        series = pl.Series(name, column.to_numpy(), nan_to_null=True)
    else:
        absent = column.isna().tolist()
        items = zip(column.astype(object).tolist(), absent, strict=True)
        series = pl.Series(name, [None if gone else _plain(x) for x, gone in items], strict=False)
    if name in _WHOLE and series.dtype.is_float() and (series == series.round()).all():
        return series.cast(pl.Int64, strict=False)
    return series


def _plain(value: object) -> object:
    """Return what numpy holds in a cell as values of Python."""
    return value.tolist() if hasattr(value, "tolist") else value


def collected(name: str, value: object) -> pl.DataFrame:
    """Return a frame from anywhere, collected."""
    value = polars_of(name, value)
    if not isinstance(value, pl.DataFrame | pl.LazyFrame):
        raise not_polars(name, value)
    return value.lazy().collect()


def ids(value: object, name: str = "ids", of: str = "units") -> pl.Series:
    """Return the ids given as an int, an iterable, a Series or a frame with a column ``id``.

    Args:
        value: What was given.
        name: Of the argument.
        of: The collection whose ids they are.
    """
    value = polars_of(name, value)
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, pl.DataFrame):
        value = _ids_of_frame(value, name, of)
    if isinstance(value, pl.Series):
        return _ids_of_series(value, name)
    if hasattr(value, "__index__") and not isinstance(value, bool):  # numpy's integers, too
        value = [whole(name, value, 0, MAX_ID)]
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        items = list(value)  # type: ignore[call-overload]
    except TypeError:
        raise invalid(
            name,
            value,
            "is not allowed",
            cure=_FOUND.format(value_in_python(value))
            if isinstance(value, str) and name in ("ids", "units")
            else "give an id, a list of ids, a Series or a frame with a column 'id'",
        ) from None
    # One by one only to name the fault, and for numbers of other libraries: it is slow.
    if not _are_plain(items):
        items = [whole(f"{name}[{place}]", item, 0, MAX_ID) for place, item in enumerate(items)]
    return pl.Series("id", items, dtype=pl.Int64)


def _ids_of_frame(frame: pl.DataFrame, name: str, of: str) -> pl.Series:
    foreign = next((column for column in frame.columns if column in _FOREIGN[of]), None)
    if "id" in frame.columns and foreign is None:
        return frame["id"]
    collection = of.replace("_", " ")
    fault = f": with a column {foreign!r} its ids are not of {collection}"
    if "id" not in frame.columns:
        fault = ": the frame has no column 'id'"
    for column in _NAMED_IN[of]:
        if column in frame.columns:
            each = ".explode()" if frame.schema[column] == pl.List else ""
            raise invalid(name, ..., fault, give=f"its frame[{column!r}]{each}.drop_nulls()")
    if foreign is not None:
        raise invalid(name, ..., fault, give=f"ids of {collection}")
    raise invalid(name, ..., fault, cure=f"it has {frame.columns}")


def _ids_of_series(column: pl.Series, name: str) -> pl.Series:
    # Under a plain name: polars treats ``*`` and ``^…$`` as patterns of names.
    series = column.alias("id")
    series = series if series.dtype != pl.Null else series.cast(pl.Int64)
    if not series.dtype.is_integer() or series.null_count():
        raise invalid(
            name,
            ...,
            f": the column {column.name!r} is {series.dtype} with {series.null_count()} nulls",
            give="whole numbers, none missing",
        )
    numbers = series.cast(pl.Int64, strict=False)  # null above the largest id
    outside = series.filter((numbers < 0).fill_null(value=True))
    if outside.len():
        raise invalid(name, ..., f": {outside[0]} is not allowed", give=f"ids from 0 to {MAX_ID}")
    return numbers


def _are_plain(items: list[int]) -> bool:
    """Return whether all are allowed ids of Python's own type."""
    if not set(map(type, items)) <= {int}:
        return False
    return not items or (min(items) >= 0 and max(items) <= MAX_ID)


def positive(name: str, value: object) -> float:
    """Return a number above zero."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**9:
        return float(value)
    raise invalid(name, value, "is not allowed", give="a number above zero")


class WrongCall(UsageError, TypeError):
    """A call with arguments unknown to a method; also a TypeError, as Python's own error is."""


class Checked:
    """Base of classes whose public methods raise a UsageError for a call that does not fit."""

    def __init_subclass__(cls) -> None:
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(cls, name, checked_call(member))


def checked_call(method: Callable[P, T]) -> Callable[P, T]:
    """Raise a UsageError for a call that does not fit, also for what is no boolean."""
    signature = inspect.signature(method)
    # Annotations are texts here. Any other value would silently count as True: "no", too.
    switches = {
        n: p.annotation for n, p in signature.parameters.items() if p.annotation in _SWITCHES
    }
    frames = [n for n, p in signature.parameters.items() if _FRAMES.search(str(p.annotation))]

    @wraps(method)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        try:
            bound = signature.bind(*args, **options)
        except TypeError as error:
            fault = f"{method.__name__}(){_fault_of_call(signature, args, options, str(error))}"
            raise WrongCall(fault) from None
        given = bound.arguments
        for name in frames:
            if name in given:
                given[name] = polars_of(name, given[name])
        for name, annotation in switches.items():
            value = given.get(name, False)
            if not isinstance(value, bool) and (value is not None or annotation == "bool"):
                raise invalid(name, value, "is not a boolean", cure=_SWITCHES[annotation])
        return method(*bound.args, **bound.kwargs)

    return checked


def _fault_of_call(
    signature: inspect.Signature, args: tuple[object, ...], options: dict[str, object], fault: str
) -> str:
    arguments = [parameter for parameter in signature.parameters if parameter != "self"]
    for option, value in options.items():
        if option not in arguments:
            passed = f"{option}={value_in_python(value)}"
            return f" has no argument {passed}: {_other_keyword(option, arguments)}"
    by_name = [p for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY]
    surplus = args[len(signature.parameters) - len(by_name) :]
    keywords = [
        p.name for p in by_name
        if p.annotation not in _SWITCHES or (surplus and isinstance(surplus[0], bool))
    ]  # fmt: skip
    if surplus and "changed_since" in keywords and isinstance(surplus[0], str | date | timedelta):
        return f" takes its arguments by name: give changed_since={surplus[0]!r}"
    if {"by", "value"} <= set(keywords):
        keywords = ["by", "value"]  # of a chart; another one has them in another order
    if surplus and keywords:
        passed = value_in_python(surplus[0])
        return f" takes its arguments by name: {passed} may be one of {keywords}"
    return f": {fault}; it takes {arguments}"


def _other_keyword(option: str, arguments: list[str]) -> str:
    by_day = "changed_since" in arguments
    if by_day and option in _CALLED_UPPER_BOUND:
        return (
            "the register keeps only the day of the latest change and has no upper bound; give "
            f"changed_since, fetch the records and filter them by {wire.CHANGED}"
        )
    fields = {**dict.fromkeys(wire.BY_FIELD), **{c.label: None for c in wire.CODELISTS.values()}}
    if by_day and option in fields:
        return (
            "the register filters only by day of change, IČO, DIČ and legal form; fetch the "
            "records and filter those: fk.units.get(ids).filter(pl.col('kraj') == 'SK010')"
        )
    return f"{near(option, arguments)}it takes {arguments}"
