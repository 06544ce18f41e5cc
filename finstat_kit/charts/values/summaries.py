"""Summaries for charts: one value of one year, its name, and what it covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from finstat_kit import arguments
from finstat_kit.arguments import Grouping, Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.charts.values import figures
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.findings.summary import FEWEST, schema
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words
from finstat_kit.frames.text.number_format import Noun

_WORDS: Final = Words("summaries")
_COLUMNS: Final = frozenset(schema([]))  # of a summary, whatever its groups
COUNTS: Final = ("n", "units", "without", "n_doubtful", "n_excluded")
STATISTICS: Final = ("sum", "mean", "p10", "p25", "median", "p75", "p90", "share_top5", "weighted")


class Summary(NamedTuple):
    """The rows to draw of a summary.

    Attributes:
        table: Those of one value and year.
        item: The value.
        fields: The groups.
        years: The first and the last; None if they are not known.
    """

    table: pl.DataFrame
    item: str
    fields: Sequence[Grouping]
    years: tuple[int, int] | None

    def heading(self, lang: Lang, called: str) -> str:
        """Return a heading: what is drawn, the groups and the years."""
        words = _WORDS[lang]
        named = words["and"].join(drawing.WORDS[lang][field] for field in self.fields)
        by = f" {words['by'].format(by=named)}" if self.fields else ""
        years = "" if self.years is None else ", " + "–".join(map(str, sorted({*self.years})))
        # Of a summary without rows the value has no name.
        return f"{figures.capitalized(called.lstrip(': '))}{by}{years}"

    def called(self, lang: Lang, statistic: str) -> str:
        """Return what a statistic of the value is called."""
        return f"{figures.called(self.item, lang)} ({named(statistic, lang)})"

    def check(self, statistic: str) -> None:
        """Refuse a statistic that the value does not have."""
        figures.check_statistic(self.item, statistic)
        numbers = self.table.filter(pl.col("n") >= FEWEST)[statistic]
        if numbers.len() and numbers.null_count() == numbers.len():
            fault = f": the summary has none of {self.item!r}"
            raise invalid("statistic", statistic, fault, give="another, such as 'median'")

    def covered(self, lang: Lang) -> str:
        """Return the number of units with a value, of all; of groups of figures, those in none.

        Of several years it is one of unit-years.
        """
        noun: Noun = "units" if len({*(self.years or ())}) < 2 else "unit-years"
        n, units = (int(self.table[name].sum()) for name in ("n", "units"))
        if any(map(groups.is_of_figures, self.fields)):
            others = [field for field in self.fields if not groups.is_of_figures(field)]
            ungrouped = int(
                self.table.unique([*others, "year", "n_ungrouped"])["n_ungrouped"].sum()
            )
            facts = (
                number_format.with_noun(n, noun, lang), figures.ungrouped(ungrouped, lang, noun)
            )  # fmt: skip
            return "; ".join(filter(None, facts))
        numbers = {"n": number_format.whole(n, lang), "of": number_format.whole(units, lang)}
        return _WORDS[lang][f"covered {noun}"].format(**numbers)

    def notes(self, lang: Lang) -> list[str]:
        """Return the notes on units without a value, years in thousands, and mixed forms."""
        reasons = self._added("reasons", "reason")
        counts = {"doubtful": int(self.table["n_doubtful"].sum())}
        notes = [
            figures.without([(str(why), n) for why, n in reasons], self.item, lang),
            *figures.numbered(_WORDS[lang], counts, lang),
            *figures.forms([(int(form), n) for form, n in self._added("forms", "template")],
                           self.item, lang),
        ]  # fmt: skip
        return [note for note in notes if note]

    def write(self, statistic: str, number: float, lang: Lang, more: int = 0) -> str:
        """Write a number of a statistic, or with more decimals."""
        if statistic in COUNTS:
            return number_format.whole(int(number), lang)
        if statistic == "share_top5":
            return number_format.percent(number, lang, more)
        return figures.written(self.item, number, lang, more)

    def _added(self, column: str, name: str) -> list[tuple[str | int, int]]:
        """Return how often each entry of a list occurs in all rows, most frequent first."""
        parts = self.table.select(pl.col(column).explode()).drop_nulls().unnest(column)
        totals = parts.group_by(name).agg(pl.col("count").sum())
        return totals.sort("count", name, descending=[True, False]).rows()


def is_one(frame: labels.Frame) -> bool:
    """Return whether a frame is a summary."""
    columns = labels.schema_of(frame)
    return columns.keys() >= _COLUMNS and columns["by"] == pl.List(pl.String)


def named(statistic: str, lang: Lang) -> str:
    """Return the name of a statistic."""
    return _WORDS[lang][statistic]


def of_frame(
    frame: labels.Frame, by: object, item: str | None = None, *, of_years: bool = False
) -> Summary:
    """Return the rows to draw of a summary.

    Args:
        frame: The summary.
        by: As given to the chart; its default goes for any.
        item: The value to draw; None is the only one.
        of_years: Whether there may be several years.

    Raises:
        UsageError: There are several values or years, or it is one by other groups.
    """
    table = frame.lazy().collect()
    fields: list[Any] = (
        [name for name in table.columns if name in labels.FIELDS]
        if table.is_empty()
        else table["by"][0].to_list()
    )
    named_fields = [groups.named(field) for field in fields]
    wanted = [] if by is None else [labels.field(name) for name in arguments.names("by", by)]
    if wanted not in (["kraj"], named_fields) and not table.is_empty():
        raise invalid(
            "by",
            by,
            f": the summary was made by {named_fields}",
            give=f"by={named_fields[0] if len(fields) == 1 else named_fields!r}",
        )
    # Labels and words are those of the revision of NACE.
    other = [
        (name, field) for name, field in zip(named_fields, fields, strict=True) if name != field
    ]
    table = table.rename(dict(other) | {
        labels.FIELDS[name].label: labels.FIELDS[field].label for name, field in other
    })  # fmt: skip
    if item is not None:
        known = table["value"].unique(maintain_order=True).to_list()
        if known and item not in known:
            cure = f"give one of {known}"
            if item in (*STATISTICS, *COUNTS):
                cure = f"of a map give statistic={item!r}; value= is one of {known}"
            raise invalid("value", item, "is not in the summary", cure=cure)
        table = table.filter(pl.col("value") == item)
    for column in ("value",) if of_years else ("value", "year"):
        entries = table[column].unique().sort().to_list()
        if len(entries) > 1:
            one = entries[-1]
            cure = f"name one: value={one!r}"
            if column == "year":
                cure = f"take one of them: .filter(pl.col('year') == {one!r})"
            fault = f"there are several entries in the column {column!r}: {entries}"
            raise UsageError(fault, cure=cure)
    years: Any = table["year"].min(), table["year"].max()
    years = None if years[0] is None else years
    called = str(table["value"][0]) if table.height else item or ""
    return Summary(table, called, fields, years)
