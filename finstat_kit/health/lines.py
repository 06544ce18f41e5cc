"""The lines of the health report: what is expected of a register, and how a line is made."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, ParamSpec, TypeVar

from finstat_kit.errors import ProtocolError
from finstat_kit.health.probe import Fault
from finstat_kit.protocol import wire
from finstat_kit.protocol.untrusted import NotJson

P = ParamSpec("P")
T = TypeVar("T")
SLOW: Final = 2.0  # seconds; the register usually takes a tenth of it
FEW_LABELS: Final = 0.8  # of the codes in the records

_CODES: Final = "each code once and as text, with a name in both languages"
EXPECTED: Final = {
    "reachable": "replies, and asks for no pause",
    "API version": wire.API_VERSION,
    "latency": f"under {SLOW:.0f} s for half of the replies",
    "rate": "5 requests per second without a status 429",
    "encoding": "JSON in UTF-8, without a byte order mark, plain or gzip",
    "clock": "headers Date of today or the day beside it",
    "regions": f"{_CODES}; 10 of them",
    "districts": f"{_CODES} and a known region; 79 or more",
    "municipalities": f"{_CODES} and a known district; about 2,930",
    **dict.fromkeys(("legal_forms", "activities", "ownership_types", "size_classes"), _CODES),
    "paging": "pages of ids",
    "ids ascend": "each id is greater than the one before, on all pages",
    "page size": "as many ids as were requested, or fewer",
    "flag": f"{wire.MORE} is true or false",
    "beyond the last id": "no ids, and the flag false",
    "counts": "before a page, what is on it and after it",
    "default page": f"{wire.DEFAULT_PAGE:,} ids where no number is requested",
    "largest page": f"{wire.MAX_PAGE:,} ids where as many are requested",
    "above the largest page": f"{wire.MAX_PAGE:,} ids, or status 400",
    "change window": "the day of change holds on the second page too",
    "day of change": "a unit is listed for the day of its last change, not for the next day",
    "filters": "the IČO of a unit lists it; its legal form lists some units, not all",
    **dict.fromkeys(
        (wire.STATEMENTS, wire.REPORTS, wire.ANNUAL_REPORTS), "a count, and ids that ascend"
    ),
    **dict.fromkeys(
        ("records of units", "records of statements", "records of annual reports"),
        "every record can be read, and has known fields alone",
    ),
    **{
        f"labels of {field}": f"{FEW_LABELS:.0%} of the codes or more are in the codelist"
        for field in wire.BY_FIELD
    },
    "forms": "rows and captions as in the package",
    "templates of reports": "the templates that reports name exist",
    "tables of reports": "as many cells as the template has",
    "no day": f"without {wire.CHANGED_SINCE}: status 400, or all ids",
    "wrong day": "status 400",
    "unknown id": "status 404 and an empty body",
    "unknown path": "status 404",
    "versions": "those of this machine",
}


class Line(NamedTuple):
    """A row of the report."""

    check: str
    status: str
    seen: str  # before what is expected: a narrow terminal has the first columns
    expected: str
    meaning: str


def line(check: str, status: str, seen: str, meaning: str = "") -> Line:
    """Return a line of a check, with what is expected of it."""
    return Line(check, status, seen, EXPECTED[check], meaning)


def judged(check: str, good: bool, seen: str, meaning: str, otherwise: str = "fail") -> Line:
    """Return a line that is ok where all is good, else has another status and its meaning."""
    return line(check, "ok", seen) if good else line(check, otherwise, seen, meaning)


def parsed(parse: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Read a body as the client does.

    Raises:
        Fault: The client would refuse it.
    """
    try:
        return parse(*args, **options)
    except ProtocolError as error:
        raise Fault(error.message.partition("; the reply")[0]) from None
    except NotJson as error:
        raise Fault(f"no JSON but {error}") from None


def nameless(fault: Fault) -> str:
    """Return a fault of a record that names neither its id nor a value: letters a, digits 9."""
    path, _, rest = re.sub(r"^id [0-9]+: ", "", str(fault)).partition(": ")
    quoted = re.compile(r"'.*'|\".*\"")
    rest = quoted.sub(lambda text: re.sub(r"[^\W\d_]", "a", text[0]), rest)
    return path + (f": {re.sub('[0-9]', '9', rest)}" if rest else "")
