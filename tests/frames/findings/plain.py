"""Groups and quantiles once more, in plain Python that shares nothing with the package."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

Row = dict[str, Any]
# The first and the last division of each section of NACE Rev. 2.
SECTIONS = {
    "A": (1, 3), "B": (5, 9), "C": (10, 33), "D": (35, 35), "E": (36, 39), "F": (41, 43),
    "G": (45, 47), "H": (49, 53), "I": (55, 56), "J": (58, 63), "K": (64, 66), "L": (68, 68),
    "M": (69, 75), "N": (77, 82), "O": (84, 84), "P": (85, 85), "Q": (86, 88), "R": (90, 93),
    "S": (94, 96), "T": (97, 98), "U": (99, 99),
}  # fmt: skip
NO_DIVISIONS = {4, 34, 40, 44, 48, 54, 57, 67, 76, 83, 89}


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, linear between values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def section_of(row: Row) -> str | None:
    """Return the section of an activity; a code that is none of five digits is left as it is."""
    code = row["skNace"]
    if code is None:
        return None
    if len(str(code)) < 3:
        return f"?{code}"
    number = int(str(code)[:2])
    for letter, (first, last) in SECTIONS.items():
        if first <= number <= last and number not in NO_DIVISIONS:
            return letter if len(str(code)) == 5 else str(code)
    return str(code)


def age_of(row: Row, at: date | None = None) -> str | None:
    """Return the group of an age at the end of the period."""
    born = row["datumZalozenia"]
    end = at or row["period_to"] or date(row["year"], 12, 31)
    if born is None or end < born:
        return None
    years = end.year - born.year - ((end.month, end.day) < (born.month, born.day))
    ends = ((1, "00-01"), (4, "02-04"), (9, "05-09"), (19, "10-19"))
    return next((code for last, code in ends if years <= last), "20+")


def size_of(row: Row) -> str | None:
    """Return the size by the thresholds of the year's figures, None without figures or a law."""
    if row["family"] not in ("business", None):
        return None
    if row["reason"] not in (None, "not_a_number", "caption_mismatch"):
        return None
    end = row["period_to"] or date(row["year"], 12, 31)
    raised = end >= date(2023, 12, 31)
    turnover = row["sales"] if row["net_turnover"] is None else row["net_turnover"]
    staff = row["velkostOrganizacie"]
    codes = [*("01", "02", "03", "04", "05"), *("06", "07", "11")]
    classes = dict(zip(codes, [9] * 5 + [49] * 3, strict=True))
    people = None if staff in (None, "00") else classes.get(staff, 100)
    micro = (450_000, 900_000, 10) if raised else (350_000, 700_000, 10)
    small = (5_000_000, 10_000_000, 50) if raised else (4_000_000, 8_000_000, 50)
    for name, limits in (("micro", micro), ("small", small)):
        met = [
            None if value is None else value <= limit
            for value, limit in zip((row["total_assets"], turnover, people), limits, strict=True)
        ]
        if met.count(True) >= 2:
            return name
        if met.count(False) < 2:
            return "unknown"
    return "large"
