"""Ratios of financial statements: one formula each, computed with blanks as they are meant.

Most forms leave provisions, loans and some sales blank. In a formula a blank part counts as 0 when
another part of the same sum, or the sum row of its block, is filled; a part that is essential and
blank makes the ratio null.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import Final, Literal, overload

import polars as pl
from msgspec import Struct

from finstat_kit.calls import checked_call
from finstat_kit.errors import invalid, warn
from finstat_kit.frames.financials import assemble, items
from finstat_kit.given_frames import Frame, not_polars
from finstat_kit.protocol.shipped import read


class Formula(Struct, frozen=True):
    """A ratio as two sums of items; without a divisor it is an amount."""

    label_sk: str
    label_en: str
    over: str
    under: str | None = None

    @property
    def text(self) -> str:
        """The formula as it is printed."""
        if self.under is None:
            return self.over
        parts = (f"({part})" if " " in part else part for part in (self.over, self.under))
        return " / ".join(parts)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The quotients that it is made of: itself."""
        return (self,)


class Term(Struct, frozen=True):
    """A part of a score: a weight and a quotient, which may have a limit.

    Attributes:
        weight: What the quotient is multiplied by.
        over: Sum of items.
        under: Sum of items.
        most: Limit from above, and the value where the divisor is blank or 0; None for no limit.
    """

    weight: float
    over: str
    under: str
    most: float | None = None

    @property
    def quotient(self) -> Formula:
        """The quotient without weight and limit."""
        return Formula("", "", self.over, self.under)


class Score(Struct, frozen=True):
    """A weighted sum of quotients, estimated for forms with certain items."""

    label_sk: str
    label_en: str
    terms: tuple[Term, ...]

    @property
    def text(self) -> str:
        """The formula as it is printed."""
        return " + ".join(
            f"{term.weight:g} {term.quotient.text}"
            if term.most is None
            else f"{term.weight:g} min({term.quotient.text}, {term.most:g})"
            for term in self.terms
        )

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The quotients that it is made of."""
        return tuple(term.quotient for term in self.terms)


class _Facts(Struct, frozen=True):
    """The ratios in ``data/ratios.json``.

    Attributes:
        business: Ratios of businesses.
        public: Ratios of public bodies; all other ratios are of businesses.
        scores: Estimated for businesses of today's forms; the zones are in the documentation.
        crisis: An indicator after section 67a of the Commercial Code.
        crisis_bounds: Its bound by year; none before the first, the last for good.
        shares: Ratios that are written in per cent.
        essential: Items of which a blank is not zero.
        comparable: What means the same on all forms, for values that do not.
        sum_rows: The sum row of the block that a part stands in.
    """

    business: dict[str, Formula]
    public: dict[str, Formula]
    scores: dict[str, Score]
    crisis: Formula
    crisis_bounds: dict[int, float]
    shares: frozenset[str]
    essential: frozenset[str]
    comparable: dict[str, str]
    sum_rows: dict[str, str]


_FACTS: Final = read("ratios", _Facts)
_PUBLIC: Final = _FACTS.public
FORMULAS: Final = {**_FACTS.business, **_PUBLIC}
SCORES: Final = _FACTS.scores
FORMS_OF_SCORES: Final = (699, 687)
BELOW_CRISIS: Final = "below_crisis_ratio"
CRISIS: Final = _FACTS.crisis
CRISIS_BOUNDS: Final = _FACTS.crisis_bounds
NUMBERS: Final[dict[str, Formula | Score]] = {**FORMULAS, **SCORES}
_ALL: Final[dict[str, Formula | Score]] = {**FORMULAS, BELOW_CRISIS: CRISIS, **SCORES}
NAMES: Final = tuple(_ALL)
AMOUNTS: Final = frozenset({"ebitda"})  # in euro
SHARES: Final = _FACTS.shares
Quantity = Literal["amount", "share", "number"]  # in euro, shown in per cent, any other ratio
EXCLUDED: Final = "excluded"
COMPARABLE: Final = _FACTS.comparable
ESSENTIAL: Final = _FACTS.essential
SUM_ROWS: Final = _FACTS.sum_rows
LISTED: Final = pl.Schema(
    {
        "ratio": pl.String(),
        "label_sk": pl.String(),
        "label_en": pl.String(),
        "formula": pl.String(),
        "items": pl.List(pl.String),
        "forms": pl.List(pl.Int32),
    }
)
_SHOWN: Final = 3  # ratios that a warning names
_PART: Final = re.compile(r"([+-]?) ?(\w+)")


@overload
def ratios(frame: str | None = None, *, keep: bool = False) -> pl.DataFrame: ...
@overload
def ratios(frame: Frame, *, keep: bool = False) -> Frame: ...
@checked_call
def ratios(
    frame: pl.DataFrame | pl.LazyFrame | str | None = None, *, keep: bool = False
) -> pl.DataFrame | pl.LazyFrame:
    """Compute the ratios of financial statements, list the ratios, or search them.

    Balances are those of the end of the period, not averages, and nothing is scaled to 12 months:
    ``months`` stands beside. Null where an essential part is blank (total assets, equity,
    liabilities, current payables, net profit and sales, each where it stands in the formula), where
    the divisor is not above zero, and where the currency is not the euro; never infinite. Any other
    blank part counts as 0 when another part of its sum, or the sum row of its block, is filled. 687
    holds accruals inside current assets and liabilities, the other forms outside: ratios of
    liquidity and of liabilities are not comparable across them, those that end in ``_comparable``
    are.

    Args:
        frame: As `financials` returns it; a LazyFrame stays lazy. None lists the ratios;
            a text lists those with all of its words, or their beginnings, in the name or a label of
            either language.
        keep: Keep the items beside the ratios.

    Returns:
        The same rows, with the ratios instead of the items: ``equity_ratio``,
        ``liabilities_to_equity``, ``current_ratio``, ``quick_ratio``, ``cash_ratio``, ``roa``,
        ``roe``, ``net_margin`` (of sales), ``operating_margin`` (of operating revenue),
        ``asset_turnover``, ``ebitda`` (euro; it includes impairment), ``interest_coverage``,
        ``current_ratio_comparable`` and ``liabilities_to_equity_comparable`` (with accruals on
        every form) (Float64), ``below_crisis_ratio`` (Boolean: equity / liabilities under 0.04 in
        2016, 0.06 in 2017, 0.08 since 2018; null before; an indicator, not a legal finding, and of
        some legal forms only: ``pravnaForma``), the scores ``altman_z`` and ``in05`` (Float64; on
        699 and 687 alone, which differ by accruals); and ``excluded`` (List of String: the ratios
        that are null because their divisor is not above zero, such as ``roe`` with negative
        equity). Those that the columns of the frame suffice for, whatever its rows (a warning names
        the others and the items that they lack, where the frame has items of no ratio):
        ``debt_to_revenue``, ``personnel_cost_share`` and ``transfer_share`` are of public bodies,
        the others of businesses, and null elsewhere.

        Without figures one row per ratio: ``ratio``, ``label_sk``, ``label_en``, ``formula``
        (String), ``items`` (List of String: the columns that it is computed from, sum rows of
        blocks among them) and ``forms`` (List of Int32: the templates that have its parts).

    Raises:
        UsageError: The year, the currency or the items of every ratio are missing.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     money = fk.financials([365], year=2015)
        >>> fk.ratios(money).select("year", pl.col("equity_ratio").round(3)).rows()
        [(2015, 0.629)]
        >>> fk.ratios().filter(ratio="roa").select("label_en", "formula").row(0)
        ('return on assets', 'net_profit / total_assets')
        >>> fk.ratios("likvidita")["ratio"].head(2).to_list()
        ['current_ratio', 'quick_ratio']
    """
    if frame is None or isinstance(frame, str):
        return listed(frame)
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        raise not_polars("frame", frame)
    columns = frame.lazy().collect_schema().names()
    lacking = {name: [part for part in columns_of(name) if part not in columns] for name in NAMES}
    left_out = {name: parts for name, parts in lacking.items() if parts}
    # Where every item serves a ratio that there is, these alone were wanted.
    used = {part for name in NAMES if name not in left_out for part in columns_of(name)}
    if left_out and not used.issuperset(set(items.names()).intersection(columns)):
        first = [f"{name} (no {', '.join(parts)})" for name, parts in left_out.items()][:_SHOWN]
        more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
        warn(
            f"ratios left out for lack of items: {'; '.join(first)}{more}; name ratios in "
            "items= of fk.financials, which brings what they need, or leave it out"
        )
    table = computed(frame.lazy(), keep=keep)
    return table.collect() if isinstance(frame, pl.DataFrame) else table


def computed(frame: pl.LazyFrame, *, keep: bool) -> pl.LazyFrame:
    """Return the ratios that the columns of a frame suffice for; see `ratios`."""
    schema = frame.collect_schema()
    columns = schema.names()
    computable = [name for name in NAMES if set(columns_of(name)).issubset(columns)]
    if not computable:
        absent = next(name for name in columns_of("roa") if name not in columns)
        raise invalid(
            "frame",
            ...,
            f": no column {absent!r}",
            give="what fk.financials returns; fk.ratios() lists the items of each ratio",
        )
    used = dict.fromkeys(part for name in computable for part in columns_of(name))
    assemble.check_types(schema, used, "frame")
    values = [_where_defined(name, _value(name)).alias(name) for name in computable]
    excluded = [_where_defined(name, pl.when(is_excluded(name)).then(pl.lit(name)))
                for name in computable if name != BELOW_CRISIS]  # fmt: skip
    named = pl.concat_list([*excluded, pl.lit(None, pl.String)]).list.drop_nulls().alias(EXCLUDED)
    figures = [name for name in columns if name in items.names()]
    frame = frame.with_columns(assemble.numbers(figures))
    before = columns[: columns.index(figures[0])]
    after = [name for name in columns if name not in {*before, *figures, *NAMES, EXCLUDED}]
    finite = assemble.numbers(name for name in computable if name != BELOW_CRISIS)
    columns_shown = [*before, *(figures if keep else ()), *values, named, *after]
    return frame.select(columns_shown).with_columns(finite)


def _where_defined(name: str, value: pl.Expr) -> pl.Expr:
    """Return a ratio where the amounts are in euro and the form is of its family."""
    in_euro = pl.col("currency").is_null() | (pl.col("currency") == "EUR")
    if name in _PUBLIC:
        return pl.when(in_euro & pl.col("template").is_in(forms_of(name))).then(value)
    return pl.when(in_euro & (pl.col("family") == "business")).then(value)


def forms_of(name: str) -> list[int]:
    """Return the templates on which an item or a ratio is defined."""
    forms = items.forms_with(parts_of_value(name))
    if name in SCORES:
        return [form for form in forms if form in FORMS_OF_SCORES]
    if name not in _ALL:
        return forms
    return [form for form in forms if items.FAMILY_OF[form] == family_of(name)]


def family_of(name: str) -> items.Family:
    """Return the family of filers that a ratio is defined for."""
    return "public" if name in _PUBLIC else "business"


def quantity(name: str) -> Quantity | None:
    """Return what the values of an item or a ratio, or of what `growth` makes of them, are.

    None for any other name, and for a ratio of yes or no.

    >>> quantity("ebitda"), quantity("roa"), quantity("current_ratio"), quantity("year")
    ('amount', 'share', 'number', None)
    >>> quantity("sales_growth"), quantity("sales_change"), quantity("roa_before")
    ('share', 'amount', 'share')
    """
    if name in SHARES:
        return "share"
    if name in NUMBERS and name not in AMOUNTS:
        return "number"
    if name in AMOUNTS or name in items.names():
        return "amount"
    base, _, part = name.rpartition("_")
    of_base = quantity(base) if part in ("growth", "before", "change") else None
    return "share" if part == "growth" and of_base else of_base


def has_sum(name: str) -> bool:
    """Return whether the sum of a value over units means anything: not that of a ratio."""
    return quantity(name) in ("amount", None) and name != BELOW_CRISIS


def listed(text: str | None = None) -> pl.DataFrame:
    """Return the ratios, or those with all words of a text, one row each; see `ratios`."""
    rows = [
        (name, formula.label_sk, formula.label_en, formula.text, _items_of(formula),
         forms_of(name))
        for name, formula in _ALL.items()
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=LISTED, orient="row")
    return (
        table
        if text is None
        else items.searched(table, "frame", text, "words of a name, or figures")
    )


def columns_of(name: str) -> list[str]:
    """Return the columns of financials that a ratio is computed from."""
    form = ["template"] if name in SCORES or name in _PUBLIC else []
    family = [] if name in _PUBLIC else ["family"]
    return ["year", "currency", *family, *form, *_items_of(_ALL[name])]


def _items_of(formula: Formula | Score) -> list[str]:
    """Return the items of a formula, with the sum rows that show that a blank part is zero."""
    needed = []
    for part in _parts(formula):
        needed += [part] if part in ESSENTIAL else [part, *rows_above(part)]
    return list(dict.fromkeys(needed))


def _parts(formula: Formula | Score) -> list[str]:
    return [
        part
        for each in formula.formulas
        for _, part in parts_of(f"{each.over} + {each.under or ''}")
    ]


def _value(name: str) -> pl.Expr:
    """Return a ratio over columns of financials."""
    if name == BELOW_CRISIS:
        return of(CRISIS) < _bound()
    if name in FORMULAS:
        return of(FORMULAS[name])
    on_form = pl.col("template").is_in(FORMS_OF_SCORES)
    terms = [_of_term(term) for term in SCORES[name].terms]
    return pl.when(on_form).then(reduce(lambda total, term: total + term, terms))


def _of_term(term: Term) -> pl.Expr:
    quotient = of(term.quotient)
    if term.most is not None:
        under = sum_of(term.under).fill_null(0.0)
        # Without a divisor only where there is what would be divided.
        most = pl.when(sum_of(term.over).is_not_null()).then(term.most)
        quotient = pl.when(under == 0).then(most).otherwise(quotient.clip(upper_bound=term.most))
    return term.weight * quotient


def of(formula: Formula) -> pl.Expr:
    """Return a formula over columns of items."""
    over = sum_of(formula.over)
    if formula.under is None:
        return over
    under = sum_of(formula.under)
    return pl.when(under > 0).then(over / under)


def is_excluded(name: str) -> pl.Expr:
    """Return whether a ratio is null for a divisor alone."""
    if name in FORMULAS:
        formula = FORMULAS[name]
        if formula.under is None:
            return pl.lit(value=False)
        return sum_of(formula.over).is_not_null() & (sum_of(formula.under) <= 0)
    filled = pl.all_horizontal(
        sum_of(text).is_not_null()
        for term in SCORES[name].terms
        for text in ((term.over,) if term.most is not None else (term.over, term.under))
    )
    return pl.col("template").is_in(FORMS_OF_SCORES) & filled & _value(name).is_null()


def parts_of_value(name: str) -> list[str]:
    """Return the items that a ratio is made of; an item is made of itself.

    >>> parts_of_value("roa"), parts_of_value("sales"), parts_of_value("of_ones_own")
    (['net_profit', 'total_assets'], ['sales'], [])
    """
    if name in _ALL:
        return list(dict.fromkeys(_parts(_ALL[name])))
    return [name] if name in items.names() else []


def differs_by_form(name: str) -> bool:
    """Return whether an item or a ratio holds something else on 687 than on the other forms."""
    # Bonds stand among the payables of 687, so that its debt lacks them; it has no deferred tax.
    apart = {*items.WITH_ACCRUALS_ON_687, "financial_debt", "income_tax"}
    return name not in _PUBLIC and not apart.isdisjoint(parts_of_value(name))


def families(name: str) -> dict[int, str]:
    """Return the family of each form, with those apart on which an item or a ratio differs.

    >>> families("sales")[687], families("current_assets")[687], families("current_assets")[21]
    ('business', '687', '21')
    """
    families: dict[int, str] = dict(items.FAMILY_OF)
    if differs_by_form(name):
        families[687] = "687"
    if not set(items.OTHER_ON_21).isdisjoint(parts_of_value(name)):
        families[21] = families[22] = "21"
    return families


def parts_of(text: str) -> list[tuple[int, str]]:
    """Return the parts of a sum and their signs.

    >>> parts_of("current_assets - inventories")
    [(1, 'current_assets'), (-1, 'inventories')]
    """
    return [(-1 if sign == "-" else 1, name) for sign, name in _PART.findall(text)]


def sum_of(text: str) -> pl.Expr:
    """Return a sum over columns of items."""
    parts = parts_of(text)
    values = [sign * _zero_if_blank(name, [n for _, n in parts]) for sign, name in parts]
    return reduce(lambda total, value: total + value, values)


def _zero_if_blank(name: str, parts: Sequence[str]) -> pl.Expr:
    """Return a part of a sum, 0 where it is blank and another part or a sum row is filled."""
    showing = [*(part for part in parts if part != name), *rows_above(name)]
    if name in ESSENTIAL or not showing:
        return pl.col(name)
    filled = pl.any_horizontal(pl.col(part).is_not_null() for part in showing)
    return pl.coalesce(name, pl.when(filled).then(0.0))


def rows_above(part: str) -> list[str]:
    """Return the sum rows that show that a blank part is zero, from the nearest up."""
    above = SUM_ROWS.get(part)
    return [] if above is None else [above, *rows_above(above)]


def _bound() -> pl.Expr:
    year = pl.col("year").cast(pl.Int32).clip(None, max(CRISIS_BOUNDS))
    return year.replace_strict(CRISIS_BOUNDS, default=None, return_dtype=pl.Float64)
