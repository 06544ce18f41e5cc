"""The revision of NACE that a code of an activity is of: 2, or 2.1 of Regulation (EU) 2023/137.

Both use the same digits, for different activities: 68120 is no code of Rev. 2, 45200 none of
Rev. 2.1, and 62010 is in section J of the one, all of division 62 in K of the other. So a code is
of the revision that the register's own list has.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal, cast, get_args

import polars as pl

from finstat_kit import arguments
from finstat_kit.protocol.shipped import data_folder

Nace = Literal["2", "2.1"]
REVISIONS: Final[tuple[Nace, ...]] = get_args(Nace)
_FILES: Final = {"2": "nace.tsv", "2.1": "nace_2_1.tsv"}
_GONE: Final = "45"  # the division that Rev. 2.1 has no longer: the motor trade
_NEW: Final = "9531"  # the class that Rev. 2 does not have: repair of motor vehicles


@cache
def entries(revision: Nace) -> pl.DataFrame:
    """Return ``code``, ``section``, ``name_sk`` and ``name_en`` of all sections and divisions."""
    path = data_folder() / "facts" / _FILES[revision]
    return pl.read_csv(path, separator="\t", infer_schema=False, quote_char=None)


@cache
def _classes() -> frozenset[str]:
    """Return the classes of Rev. 2, of four digits."""
    divisions = entries("2").drop_nulls("classes")
    return frozenset(
        division + last
        for division, classes in divisions.select("code", "classes").iter_rows()
        for last in classes.split()
    )


def of_list(codes: pl.Series) -> pl.DataFrame:
    """Return of each code of a register's list the revision that it is of.

    Division 45 is in Rev. 2 alone, 95.31 in Rev. 2.1 alone, and a list has both, one or none of
    them. In a mixed list a class that Rev. 2 does not have is of Rev. 2.1, division 45 of Rev. 2;
    what both may have goes with the more of those.

    Returns:
        ``code``, ``nace`` (both String), and ``in_both`` (Boolean: it may be of either).
    """
    codes = codes.drop_nulls().unique(maintain_order=True)
    alone = pl.DataFrame({"code": codes}).with_columns(
        nace=pl.when(pl.col("code").str.starts_with(_GONE)).then(pl.lit("2"))
        .when(~pl.col("code").str.slice(0, 4).is_in(list(_classes()))).then(pl.lit("2.1"))
    )  # fmt: skip
    has_old = codes.str.starts_with(_GONE).any()
    has_new = codes.str.starts_with(_NEW).any()
    if not (has_old and has_new):
        return alone.select(
            "code", nace=pl.lit("2.1" if has_new else "2"), in_both=pl.lit(value=False)
        )
    counts = alone["nace"].value_counts().drop_nulls()
    numbers = dict(counts.iter_rows())
    usual = "2.1" if numbers["2.1"] > numbers["2"] else "2"
    return alone.select(
        "code", nace=pl.col("nace").fill_null(pl.lit(usual)), in_both=pl.col("nace").is_null()
    )


def of_codes(code: pl.Expr, listed: pl.Series) -> pl.Expr:
    """Return the revision of each code by a register's list; null for one that is not in it."""
    revisions = of_list(listed)
    return code.cast(pl.String).replace_strict(
        revisions["code"], revisions["nace"], default=None, return_dtype=pl.String
    )


def of_rev_2(code: pl.Expr) -> pl.Expr:
    """Return Rev. 2 of the codes of its classes, of five digits as the register writes them."""
    text = code.cast(pl.String)
    is_one = (text.str.len_chars() == 5) & text.str.slice(0, 4).is_in(list(_classes()))
    return pl.when(is_one).then(pl.lit("2"))


def checked(value: object) -> Nace | None:
    """Return a revision as given, None for none.

    Raises:
        UsageError: It is neither.
    """
    if value is not None:
        arguments.one_of("nace", value, REVISIONS)
    return cast("Nace | None", value)
