"""The page "What the figures mean", written from the data files and from a sample.

``python -m tests.support.figures_page`` writes ``docs/reference/figures.md``; a test compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

import finstat_kit as fk
from finstat_kit.frames.financials import items, ratios
from finstat_kit.frames.financials.assemble import CARRIED
from finstat_kit.frames.text import number_format
from tests.support.expected_figures import LETTERS

WHOSE: Final = Path(__file__).parents[2] / "docs" / "reference" / "whose-figures.md"
PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "figures.md"
# The forms of each family whose rows differ, by their heads; those of the same rows once.
FORMS: Final[dict[items.Family, dict[str, tuple[int, ...]]]] = {
    "business": {"699": (699,), "687": (687,), "21, 22 (until 2013)": (21, 22)},
    "public": {"690, 727 (522, 521 until 2013)": (690, 727), "684, 696": (684, 696)},
    "non_profit": {"1180": (1180,), "385 (until 2021)": (385,)},
    "single_entry": {"1164 (383 until 2021)": (1164,)},
}
WORDS: Final = ("in English", "in Slovak")
_FAMILIES: Final[dict[items.Family, tuple[str, str, str]]] = {
    "business": (
        "`business`: companies and cooperatives",
        "2009 to today (21 since 2011)",
        "699, 21 and 22: yes; 687: its template",
    ),
    "public": (
        "`public`: municipalities, regions, state bodies and their organisations",
        "2012 to today (consolidated: 2014)",
        "no",
    ),
    "non_profit": (
        "`non_profit`: associations, foundations and others with double-entry bookkeeping",
        "2013 to today",
        "no",
    ),
    "single_entry": (
        "`single_entry`: associations and others with single-entry bookkeeping",
        "2013 to today",
        "no",
    ),
}
_FORMS_OF: Final = (
    ["company or cooperative: micro", "21 + 22", "687", "assets net; current and previous"],
    [
        "company or cooperative: small, large",
        "21 + 22",
        "699",
        "assets gross, correction, net; current and previous",
    ],
    [
        "municipality, region, state body, their organisations",
        "522 + 521 (2012)",
        "690 + 727",
        "assets as 699; costs and revenue of main and business activity, in total, previous",
    ],
    ["the same, consolidated", "11 + 12", "684 + 696", "assets net; the others as 727"],
    [
        "non-profit with double-entry bookkeeping",
        "385 (2013)",
        "385, from 2022 on 1180",
        "as 690 and 727, in one report of four tables",
    ],
    [
        "non-profit with single-entry bookkeeping",
        "383 (2013)",
        "383, from 2022 on 1164",
        "receipts and payments: untaxed, taxed, no total, no previous year",
    ],
    ["sole trader (not public)", "62 + 82", "716", "property: previous before current"],
    [
        "company under IFRS (selected data)",
        "733",
        "733, from the end of 2015 on 943, from 2023 on 5183",
        "current, previous",
    ],
    [
        "bank (selected data)",
        "711",
        "711, from the end of 2015 on 941, from 2019 on 1121, from 2023 on 5181",
        "current, previous",
    ],
)
_SIZES: Final = (
    [
        "the form",
        "`template` 687 or 699",
        "micro units file 687; a micro unit may choose to act as a small one and file 699",
    ],
    [
        "size by law",
        '`by="size_by_law"`',
        "micro, small or large by the thresholds of the Accounting Act, applied to the figures of "
        "each year, of businesses alone ([thresholds](../howto/findings.md#groups)); not the legal "
        "group, which changes only after two years in a row",
    ],
    [
        "employees",
        '`velkostOrganizacie`, `fk.codelist("size_classes")`',
        "class of the number of employees, as of today",
    ],
)
_FILERS: Final = 300  # of the sample, whose families are counted
_UNITS: Final = 120  # of the sample, whose filings are the examples
CURRENT: Final = pl.col("source_column") == "current"


def page() -> str:
    """Return the page."""
    units, filed, money = _sample()
    parts = [
        "# What the figures mean",
        "What `fk.financials` and `fk.ratios` return, the place of each figure in the form that "
        "was filed, and what is easily misread. Amounts are in euro.",
        "## Items of businesses",
        "`a` is the table of assets (net column), `p` of equity and liabilities, `v` the income "
        "statement; the number is that of the row as printed. A dash: the form has no such item, "
        "and the figure is null. An item of several rows counts a blank row as 0 if another row is "
        "filled, or the sum row of their block, which is in brackets; an item of blanks only is "
        f"null. {_listed(_without_block())} have no sum row: a blank row of theirs counts as 0 "
        "only if another is filled. “Payables” are one block of the form, without provisions, "
        "loans and assistance; the totals end in `_liabilities_total`.",
        "*Same on* names the forms on which an item means the same.",
        table(["item", *WORDS, *FORMS["business"], "same on", "mind"], _items("business")),
        "## Items of public bodies",
        "Municipalities, regions, state bodies and their organisations. `a` assets, `p` equity and "
        "liabilities, `n` costs, `y` revenue; 684 and 696 are the consolidated statement. Of costs "
        "and revenue the column of all activities is read, or that of `activity=`.",
        table(["item", *WORDS, *FORMS["public"], "mind"], _items("public")),
        "## Items of non-profits",
        "Associations, foundations and others with double-entry bookkeeping.",
        table(["item", *WORDS, *FORMS["non_profit"], "mind"], _items("non_profit")),
        "## Items of single-entry filers",
        "`r` receipts and `x` payments, untaxed and taxed activity added; `a` property, `p` "
        "liabilities.",
        table(["item", *WORDS, *FORMS["single_entry"], "mind"], _items("single_entry")),
        "## Ratios",
        "A ratio is null where an essential part is blank ("
        + _listed(sorted(ratios.ESSENTIAL))
        + "), where the divisor is not above zero, and where the currency is not the euro. Any "
        "other blank part counts as 0 when another part of its sum, or the sum row of its block, "
        "is filled. Balances are those of the end of the period, not averages, and nothing is "
        "scaled.",
        table(["ratio", *WORDS, "formula", "mind"], _ratios()),
        "The blocks: a blank part counts as 0 where one of these rows above it, or another part of "
        "its sum, is filled.",
        table(["part", "rows above it"], _blocks()),
        "## What is easily misread",
        "Each with an example of the sample, whose data are invented.",
        *(f"**{head}** {text}" for head, text in _traps(units, filed, money)),
        "## Two figures for a period",
        "Each filing also states the period before. Where the two differ:",
        "```python\n"
        "import polars as pl\n\n"
        "import finstat_kit as fk\n\n"
        "fk.use(fk.sample())\n"
        "units = fk.units.get(fk.units.ids(limit=120))\n"
        "both = fk.financials(units, range(2014, 2020), from_previous=True)\n"
        'both = both.drop_nulls("period_to")\n'
        'sales = both.pivot("source_column", index=["unit_id", "period_to"], values="sales")\n'
        'sales = sales.drop_nulls(["current", "previous"])\n'
        'differ = sales.filter(pl.col("current") != pl.col("previous"))\n'
        "```",
    ]
    return "\n\n".join(parts) + "\n"


def whose() -> str:
    """Return the page on whose figures exist."""
    with fk.using(fk.sample()):
        units = fk.units.get(fk.units.ids(limit=_FILERS))
        money = fk.financials(units, items="total_assets")
    newest = money.sort("year").group_by("unit_id").last()
    rows = [
        [
            head,
            ", ".join(
                str(template) for together in items.FAMILIES[family] for template in together
            ),
            years,
            number_format.percent(newest.filter(family=family).height / _FILERS, "en"),
            compared,
        ]
        for family, (head, years, compared) in _FAMILIES.items()
    ]
    without = newest.filter(pl.col("family").is_null())
    reasons = without["reason"].value_counts().sort("count", "reason", descending=[True, False])
    counts = ", ".join(f"`{reason}` {n}" for reason, n in reasons.iter_rows())
    parts = [
        "# Which form, which size, whose figures",
        "The register holds statements of every kind of accounting unit, on forms that differ. "
        "`fk.financials` reads the forms of four families and names the family of each row in "
        "`family`; `fk.items()` lists which item exists on which family since which year. "
        "`fk.reports.cells` and `fk.as_filed` read every form that has tables.",
        table(["family", "forms", "years", "of the sample", "compared with real filings"], rows),
        f"The share is that of the first {_FILERS:,} units of the sample by their newest row; the "
        "mix of the sample is assumed, not that of the register.",
        "## Which form",
        "Each filer has a form of its kind and time. Numbers are ids of templates, "
        "`fk.template(699)`; ids joined by + are filed together, as two reports of one statement.",
        table(["filer", "until 2013", "from 2014", "columns"], iter(_FORMS_OF)),
        "Forms of 2009 and 2010 (1, 2, 9 to 12, 17 to 20, 13, 15) and those of the state fund, "
        "insurers and banks are read by `fk.reports.cells` alone. A unit changes its form when it "
        "grows: `template` of `fk.financials` names that of each row, and [the items](figures.md) "
        "say on which forms they mean the same.",
        "## Which size",
        "Three notions of size (veľkosť), which are not the same:",
        table(["notion", "where", "what it is"], iter(_SIZES)),
        "## Whose figures do not exist",
        "- **Sole traders**: their statements are in the non-public part of the register "
        "(`non_public`); their forms are read by `fk.reports.cells` and have no items.\n"
        "- **Companies that report under IFRS, banks, insurers, funds**: most attach a PDF "
        "(`attachments_only`); the forms with selected data (943, 5183, 941, 1121, 5181, 942, "
        "5182) are read by `fk.reports.cells` and have no items (`item_not_in_form`).\n"
        "- **Health insurers, the Social Insurance Agency, the privatisation fund**: "
        "`fk.reports.cells`.\n"
        "- **Non-profits before 2021**: most of their statements were in the non-public part until "
        "then.\n"
        "- **The budget (rozpočet) of a town or another public body**: no form has it. Costs and "
        "revenue are on accruals, not the expenditure and the receipts of a budget.",
        f"In the sample, the newest row of those without figures has a reason: {counts}.",
        "## How sure they are",
        "The rows of 699, 687, 21 and 22 were compared with the register's own templates, and the "
        "items of 699, 21 and 22 with real filings. Of the other forms no recorded reply exists: "
        "their rows are transcribed from the decrees and checked by the sums that their captions "
        "state. If a form of the register has another row number, another mark, other "
        "accounts or other rows of a sum, the items of that row are null with the reason "
        "`caption_mismatch`; `fk.doctor()` lists every row whose caption differs.",
    ]
    return "\n\n".join(parts) + "\n"


def table(heads: list[str], rows: Iterable[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell or ' ' for cell in cells)} |" for cells in lines)


def _items(family: items.Family) -> Iterator[list[str]]:
    for item in items.item_table():
        rows = []
        for forms in FORMS[family].values():
            own = [_rows(item, form) for form in forms if form in item.forms]
            rows.append(", ".join(own) or "–")
        if set(rows) == {"–"}:
            continue
        head = [f"`{item.name}`", item.label_en, item.label_sk]
        if family != "business":
            yield [*head, *rows, _note(item, family)]
            continue
        families = ratios.families(item.name)
        same = [str(form) for form in item.forms if families[form] == family]
        yield [*head, *rows, ", ".join(same), item.note or ""]


def _note(item: items.Item, family: items.Family) -> str:
    """Return what to mind on the forms of a family other than businesses."""
    parts = (item.note or "").split("; ")
    if 699 in item.forms or 687 in item.forms:
        heads = {"public": ("public",), "non_profit": ("non-profit", "public and non-profit")}
        parts = [part for part in parts if part.startswith(heads.get(family, ("single",)))]
    return "; ".join(parts)


def _rows(item: items.Item, form: int) -> str:
    """Write the rows of an item, and the sum row of their block: ``a59 + a60 (a55)``."""
    place, lines = item.forms[form]
    letter = LETTERS[form][place]
    rows = " + ".join(f"{letter}{line.number}" for line in lines if line.sign)
    return rows + "".join(f" ({letter}{line.number})" for line in lines if not line.sign)


def _without_block() -> list[str]:
    """Return the items of several rows that no sum row shows to be filled."""
    return [
        item.name
        for item in items.item_table()
        if any(
            len(lines) > 1 and all(line.sign for line in lines)
            for template, (_, lines) in item.forms.items()
            if items.FAMILY_OF[template] == "business"
        )
    ]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _blocks() -> Iterator[list[str]]:
    for part in ratios.SUM_ROWS:
        yield [f"`{part}`", _listed(ratios.rows_above(part))]


def _ratios() -> Iterator[list[str]]:
    differing = filter(ratios.differs_by_form, ratios.NUMBERS)
    minds = dict.fromkeys(differing, "differs by form: accruals, see below") | {
        "net_margin": "of sales; `operating_margin` has another denominator",
        "operating_margin": "of operating revenue; `net_margin` has another denominator",
        "ebitda": "euro; includes impairment",
        "interest_coverage": "null without interest, as in most filings, see below",
        "debt_to_revenue": "with bonds and repayable assistance; not the debt limit of "
        "municipalities (Act 583/2004), which compares with the current revenue of the year before",
        "altman_z": "699 and 687 alone; [zones](../howto/findings.md#scores)",
        "in05": "699 and 687 alone; a cover without interest counts as 9",
    }
    for name, formula in ratios.NUMBERS.items():
        words = formula.label_en, formula.label_sk
        yield [f"`{name}`", *words, f"`{formula.text}`", minds.get(name, "")]
    bounds = ", ".join(f"{bound} in {year}" for year, bound in ratios.CRISIS_BOUNDS.items())
    yield [
        f"`{ratios.BELOW_CRISIS}`",
        ratios.CRISIS.label_en,
        ratios.CRISIS.label_sk,
        f"`{ratios.CRISIS.text}` under {bounds} and later; null before: an indicator after section "
        "67a of the Commercial Code, not a legal finding",
        "concerns some legal forms only, see below; differs by form",
    ]


def _sample() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    with fk.using(fk.sample()):
        units = fk.units.get(fk.units.ids(limit=_UNITS))
        return units, fk.filings(units), fk.financials(units, from_previous=True)


def _traps(
    units: pl.DataFrame, filed: pl.DataFrame, money: pl.DataFrame
) -> Iterator[tuple[str, str]]:
    now = money.filter(CURRENT)
    three = ["net_turnover", "operating_revenue", "sales"]
    one = now.drop_nulls(three).filter(pl.col("operating_revenue") != pl.col("sales"))
    amounts = ", ".join(f"`{name}` {_euro(one[name][0])}" for name in three)
    yield (
        "“Revenue” has three meanings.",
        f"Net turnover is the filer's own figure by law, operating revenue a sum of the form, "
        f"sales goods, products and services; 687 has no net turnover. {_of(one)}: {amounts}. "
        "No column is called revenue.",
    )
    old = filed.drop_nulls("superseded_by").row(0, named=True)
    yield (
        "Corrections stay, unmarked, beside what they correct.",
        f"Unit {old['unit_id']} filed statement {old['statement_id']} for {old['year']} and "
        f"then {old['superseded_by']}: the later day of filing counts, then the higher id.",
    )
    with fk.using(fk.sample()):
        twins = fk.filings(units.head(40), consolidated=True).drop_nulls(["statement_id", "year"])
    twin = twins.row(0, named=True)
    yield (
        "Individual and consolidated statements share a year.",
        f"Unit {twin['unit_id']} also filed a consolidated statement for {twin['year']} "
        f"({twin['statement_id']}); `consolidated=True` returns those, and only those.",
    )
    two = now.filter(pl.col("periods_in_year") > 1)
    yield (
        "Two periods can end in a year.",
        f"{_of(two)}: `periods_in_year` is {two['periods_in_year'][0]}. A regular statement is "
        "taken before an extraordinary one, the longer period before the shorter; interim "
        "statements never.",
    )
    odd = now.filter(pl.col("months") != 12).drop_nulls("months")
    yield (
        "Periods can be shorter or longer than 12 months, and fiscal years differ.",
        f"{_of(odd)}: {odd['months'][0]} months. Nothing is scaled: `months` has the length.",
    )
    # Beside a filing without a last day two can state the period before.
    index = ["unit_id", "year", "period_to"]
    once = money.unique([*index, "source_column"], keep="none", maintain_order=True)
    sales = once.pivot("source_column", index=index, values="sales")
    differ = sales.drop_nulls(["current", "previous"]).filter(
        pl.col("current") != pl.col("previous")
    )
    row = differ.row(0, named=True)
    yield (
        "The previous-period column need not equal the year before.",
        f"Sales of unit {row['unit_id']} for {row['year']}: {_euro(row['current'])} when "
        f"filed, {_euro(row['previous'])} a year later.",
    )
    blank = now.filter(pl.col("reason").is_null(), pl.col("inventories").is_null())
    share = blank.height / now.filter(pl.col("reason").is_null()).height
    yield (
        "Blank is not zero.",
        f"Most of a form is left blank: `inventories` in {number_format.percent(share, 'en')} of "
        "the filings with figures.",
    )
    reasons = now.drop_nulls("reason")["reason"].value_counts()
    reasons = reasons.sort("count", "reason", descending=[True, False])
    counts = ", ".join(f"`{reason}` {n}" for reason, n in reasons.iter_rows())
    yield ("A missing figure has a reason.", f"Of {_UNITS} units in all their years: {counts}.")
    off = now.filter(pl.col("sums_failing") > 0)
    yield (
        "Some filings do not add up.",
        f"{_of(off)}: {off['sums_failing'][0]} of the sums that the form states fail: a filer's "
        "mistake, kept as filed and counted in `sums_failing`.",
    )
    forms = now.drop_nulls("liabilities").group_by("template").len().sort("template")
    many = ", ".join(f"{n} on {template}" for template, n in forms.iter_rows())
    differing = filter(ratios.differs_by_form, ratios.NUMBERS)
    yield (
        "Current assets, receivables and liabilities differ by form.",
        "687 holds accruals inside these items, the other forms in separate rows outside: "
        f"{_listed(items.WITH_ACCRUALS_ON_687)}. So {_listed([*differing, ratios.BELOW_CRISIS])} "
        "are not comparable across forms: the figures of one real filing give 1.008 or 0.908. "
        f"Comparable are {_listed(ratios.COMPARABLE.values())}. "
        f"Filings here: {many}; `template` names the form.",
    )
    yield (
        "The year of a period is the year it ends in.",
        "A fiscal year from July 2015 to June 2016 is 2016.",
    )
    yield (
        "Codes are today's, in rows of old years too.",
        f"{_listed(CARRIED)} come from the unit's present record: if it has moved, or changed "
        "its activity, its old figures are under the new code. `nace_filed`, `seat_filed` "
        "and `postcode_filed` are those of the filing's title page, as typed.",
    )
    full = fk.ratios(now.filter(pl.col("reason").is_null()))
    share = full["interest_coverage"].null_count() / full.height
    yield (
        "Most filings state no interest.",
        f"`interest_coverage` is null in {number_format.percent(share, 'en')} of the filings with "
        "figures: a median of it is one of units with debt.",
    )
    yield (
        "The crisis ratio concerns some legal forms only.",
        "Limited liability companies, joint-stock companies, and partnerships in which no natural "
        "person is fully liable; it is computed for all units: filter by `pravnaForma`.",
    )
    yield (
        "Income tax differs by form.",
        "`income_tax` holds deferred tax on 699 and 22; 687 has a row for current tax only.",
    )
    icos = units["ico"].drop_nulls()
    shared = units.filter(pl.col("ico").is_in(icos.filter(icos.is_duplicated()).implode()))
    same = f": {shared['ico'][0]}" if shared.height else ""
    yield (
        "Several units can share an IČO.",
        f"One of them may have filed nothing; `fk.financials` returns all of them{same}.",
    )
    yield (
        "A form that does not fit gives no numbers.",
        "Another number of tables or of cells than the template has (`template_mismatch`, "
        "`length_mismatch`), or another caption in a row (`caption_mismatch`), gives null and "
        "never the number of another row; the sample's own forms all fit.",
    )


def _of(rows: pl.DataFrame) -> str:
    return f"Unit {rows['unit_id'][0]}, {rows['year'][0]}"


def _euro(amount: float) -> str:
    return f"{number_format.decimal(amount, 'en', 0)} €"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    WHOSE.write_text(whose(), encoding="utf-8")
