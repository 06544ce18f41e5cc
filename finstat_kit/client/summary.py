"""Figures summarized by groups, with the labels of a register."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from finstat_kit import calls
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.client.current import drawn_from
from finstat_kit.client.register import Register
from finstat_kit.frames.findings.summary import summarized
from finstat_kit.frames.places.nace import Nace, checked


@calls.checked_call
def summary(
    figures: pl.DataFrame | pl.LazyFrame,
    value: str | Sequence[str],
    by: Grouping | Sequence[Grouping] | None = "kraj",
    *,
    nace: Nace | None = None,
    doubtful: bool = False,
    lang: Lang | None = None,
    register: Register | str | None = None,
) -> pl.DataFrame:
    """Summarize items or ratios by group and year, with what each number covers.

    A unit is counted once per year, by the rule of the charts: of several rows of a unit and year
    the one with figures, of the current column, of the longer period, of the later end. Values that
    are missing are left out and counted, never taken for zero; so are values of rows whose
    ``reason`` says that there are no figures, such as a sum of nothing. Units without a code, and
    those with a code that its codelist lacks, are one group. Nothing is scaled to 12 months,
    nothing deflated; codes are today's.

    Args:
        figures: As `financials`, `ratios` or `growth` returns them; a LazyFrame is collected, of
            the needed columns alone.
        value: An item or ratio, or several. A ratio is computed where it is not a column.
        by: A group of `count_by`, or two in a list; None means the whole. ``age`` is that at the
            end of each period.
        nace: The revision of NACE of sections and divisions, as in `count_by`. Figures have
            it in their column ``nace``; without that all are taken as Rev. 2, with a warning.
        doubtful: Whether changes of `growth` with ``scale_doubtful`` count as others; they are left
            out and counted unless so.
        lang: Language of the labels; None means the register's.
        register: Whose codelists say which codes are known; None is the current one. Without any,
            every code of a field of records counts as known, and has no label.

    Returns:
        One row per value, group and year, in this order: ``value``; the groups, each followed by
        the column of its label (String; the code is null and the label ``unknown`` of units without
        a code or with one that the codelist lacks); ``year`` (Int32); ``units``, of
        which ``n`` have a value, ``without`` have none and ``n_doubtful`` have a change that is
        left out because an amount may be in thousands (Int64; null of anything but a change of
        `growth`), by ``reasons`` (List of Struct:
        ``reason``, ``count``; beside those of financials ``all_blank``, ``item_not_in_form`` and
        ``divisor``, one not above zero), on which ``forms`` (List of Struct: ``template``,
        ``count``); ``sum`` (null of a ratio, whose sum means nothing), ``mean`` (of a ratio of yes
        or no the share of units), ``p10``, ``p25``, ``median``, ``p75``, ``p90`` (linear between
        values), ``share_top5`` (share of the five largest in the sum, null of a ratio, and where a
        value is negative) (Float64); of a ratio also ``weighted`` (the sum of its
        numerators by that of its denominators, of the rows that have the ratio; null where the
        frame has no items) and ``n_excluded`` (Int64: rows without the ratio because the divisor is
        not above zero), ``n_ungrouped`` (Int64, null but for ``size_by_law``: the units without
        figures, which have no size and so are in none of these groups; ``without`` is null there),
        ``n_codes`` (Int64: how many codes that the codelist lacks are in a row without a code; null
        in the others), ``by`` (List of String: the groups, as in
        `count_by`).

    Raises:
        UsageError: An argument is wrong, a column is missing, or the frame has individual and
            consolidated statements.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     money = fk.financials(fk.units.get(fk.units.ids(limit=40)), year=2016)
        >>> fk.summary(money, "roa", by=None).select("value", "units", "n", "without").rows()
        [('roa', 40, 19, 21)]
    """
    source, language = drawn_from(register, lang)
    lookup = None if source is None else source._lookup
    return summarized(
        figures, value, by, lookup, language, doubtful=doubtful, revision=checked(nace)
    )
