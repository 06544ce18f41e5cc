"""What charts draw of a frame; the only place that tells what kind of frame it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any, Final, Literal, NamedTuple

import polars as pl
import polars.selectors as cs

from finstat_kit import arguments
from finstat_kit.arguments import Grouping, Lang, near
from finstat_kit.charts.parts import drawing, tiles
from finstat_kit.charts.values import counts, figures, summaries
from finstat_kit.charts.values.counts import Estimate
from finstat_kit.charts.values.figures import Figures
from finstat_kit.charts.values.summaries import Summary
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.counts.count_by import (
    COUNTS,
    KINDS,
    are_those_of,
    check_made_by,
    checked,
)
from finstat_kit.frames.counts.estimation import ESTIMATES
from finstat_kit.frames.financials import ratios
from finstat_kit.frames.findings import values as values_of
from finstat_kit.frames.findings.summary import (
    FEWEST,
    schema as summary_schema,
    spread,
    summary as summarized,
)
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words

_LONGEST: Final = 24  # letters of a label beside another
_BETWEEN: Final = " · "
_ABROAD: Final = "SKZZ"  # begins the codes of places that stand last in every order of values
_NOT_ON_SCALE: Final = (None, groups.UNKNOWN, "00")  # of ages and sizes: not known
_OF_SUMMARY: Final = frozenset(summary_schema([]))  # its columns, whatever its groups
_WORDS: Final = Words("drawn_table")
_Kind = Literal["summary", "estimate", "counts", "values", "units"]


class Groups(NamedTuple):
    """The rows of a summary by two groups.

    Attributes:
        name_of: The name of the group of a row, by its code: that of the first field.
        colour_of: The colour of a row by its code: that of its code of the second field.
        legend: Colour and text of each code of the second field.
    """

    name_of: dict[str, str]
    colour_of: dict[str, str]
    legend: list[tuple[str, str]]

    @classmethod
    def of(cls, rows: pl.DataFrame, fields: Sequence[Grouping], lang: Lang) -> Groups | None:
        """Return the groups of rows; None if they have one, or too few or many codes."""
        if len(fields) < 2:
            return None
        members = rows.unique("member").sort("member_rank", nulls_last=True)
        if not 2 <= members.height <= len(drawing.CODE_COLOURS):
            return None
        colour_of = dict(
            zip(members["member"], colours(members[fields[1]], fields[1]), strict=True)
        )
        whole = rows.unique("group_code").select("kind", label="group", code="group_code")
        names = drawing.names(whole, lang, among=whole, longest=drawing.LONGEST_BROKEN)
        name_of = dict(zip(whole["code"], names, strict=True))
        codes = rows.select("code", "group_code", "member").rows()
        return cls(
            {code: name_of[group] for code, group, _ in codes},
            {code: colour_of[member] for code, _, member in codes},
            [(colour, drawing.shortened(member)) for member, colour in colour_of.items()],
        )

    def drawn(self, codes: Iterable[str | None]) -> list[tuple[str, str]]:
        """Return the entries of the legend that some rows have."""
        drawn = {self.colour_of.get(code or "") for code in codes}
        return [entry for entry in self.legend if entry[0] in drawn]


def colours(codes: Iterable[str | None], field: Grouping) -> list[str]:
    """Return a colour for each code, at most so many as there are: a scale has one hue.

    >>> colours(["00-01", "20+", None], "age")
    ['#93c1e0', '#0b4380', '#8a8a8a']
    >>> colours(["unknown", None], "age")
    ['#8a8a8a', '#c4c4c4']
    """
    if field not in groups.ORDERED:
        return [colour for _, colour in zip(codes, drawing.CODE_COLOURS, strict=False)]
    on_scale = [code not in _NOT_ON_SCALE for code in codes]
    shades = iter(drawing.graded(drawing.BLUES[1:], sum(on_scale)))
    greys = cycle((drawing.GREY, drawing.NO_VALUE_COLOUR))
    return [next(shades if is_on else greys) for is_on in on_scale]


class DrawnTable(NamedTuple):
    """What a chart draws: one row per code, and the words around it.

    Attributes:
        rows: ``code``, ``label``, ``kind`` as in counts, and ``value``. Of an estimate also
            ``hits``, ``low`` and ``high``; of boxes ``low``, ``q1``, ``q3`` and ``high``; of counts
            ``share``, of statistics ``units``, those with a value.
        lang: Language of all words.
        heading: What is drawn, by which groups, of which years.
        units: The number of units, or a text; None of values that may be of anything.
        write: Writes a value, with so many more decimals than usual.
        measure: What a value is.
        notes: On rows that are not shown, and on what the values cover.
        of_figures: Whether a title of the caller's hides what is drawn: then a note has it.
        without: What a code without a value has instead, and the word for why.
        order: Of the rows; None is that of their values.
        estimate: None if the values are known.
        groups: The rows side by side; None of one group.
        longest: Letters of a label.
        item: The item or ratio, as the numbers on its axis are written.
        are_boxes: Whether the rows are quartiles of codes; else values, or a number of each code.
        marked: The row of a unit of figures, its code as ``code``.
        dated: Whether the values are of several years.
    """

    rows: pl.DataFrame
    lang: Lang
    heading: str
    units: int | str | None
    write: Callable[[float, int], str]
    measure: str = ""
    notes: Sequence[str] = ()
    of_figures: bool = False
    without: tuple[str, str] = ("–", "missing")
    order: pl.Expr | None = None
    estimate: Estimate | None = None
    groups: Groups | None = None
    longest: int = drawing.LONGEST
    item: str = ""
    are_boxes: bool = False
    marked: dict[str, Any] | None = None
    dated: bool = False

    def drawn(self, top: int) -> pl.DataFrame:
        """Return the rows to draw: *top* labelled ones, one for the rest, one per other kind."""
        rows = drawn_rows(self.rows, top, self.order)
        return rows if self.estimate is None else self.estimate.with_bounds(rows)

    def beside(self, rows: pl.DataFrame) -> list[str]:
        """Write the interval of each value, or its share; "" without either."""
        if self.estimate is not None:
            return [self.estimate.interval(*ends) for ends in rows.select("low", "high").rows()]
        shares = rows["share"] if "share" in rows.columns else [None] * rows.height
        return [
            "" if share is None else number_format.percent(share, self.lang) for share in shares
        ]

    def total(self, rows: pl.DataFrame) -> str:
        """Write the total of some rows, or the number of units if values cannot be added up."""
        if "units" in rows.columns:
            return number_format.units(int(rows["units"].sum()), self.lang)
        if self.estimate is not None:
            return self.estimate.of_sum(rows)
        present = rows["value"].drop_nulls()
        can_be_added = self.units is not None or rows.height == 1
        return self.write(float(present.sum()), 0) if present.len() and can_be_added else ""

    def listed(self, rows: pl.DataFrame, most: int) -> list[str]:
        """Write rows with their totals: labelled codes by name, *most* of them, others by kind."""
        labelled = in_order(rows.filter(kind="labelled"), None)
        named, more = labelled.head(most), labelled.slice(most)
        parts = [named.slice(row, 1) for row in range(named.height)]
        names = drawing.names(named, self.lang, among=rows)
        if more.height:
            parts.append(more)
            number = number_format.whole(more.height, self.lang)
            names.append(f"{_WORDS[self.lang]['more']} ({number})")
        for kind in KINDS[1:]:
            if (of_kind := rows.filter(kind=kind)).height:
                parts.append(of_kind)
                first = of_kind.head(1).with_columns(codes=pl.lit(of_kind.height))
                names += drawing.names(first, self.lang, among=rows)
        totals = map(self.total, parts)
        return [": ".join(filter(None, part)) for part in zip(names, totals, strict=True)]

    def why_without(self, codes: Collection[str]) -> str:
        """Write why codes have no value: too few units, another cause, or either.

        A code without a row has no units.
        """
        _, why = self.without
        reasons = {why}
        if why == "few":
            enough = self.rows.filter(pl.col("units") >= FEWEST)["code"]
            reasons = {"missing" if code in enough else why for code in codes}
        return " / ".join(_WORDS[self.lang][reason] for reason in sorted(reasons))


class _Given(NamedTuple):
    """A frame as given to a chart, and what its labels and words need.

    Attributes:
        frame: The frame.
        kind: What it is: what a function of the package returns, own values by code, or units.
        by: The groups.
        lang: Language of all words.
        source: The register that has the labels of codes; None for none.
        named: Codes that have names elsewhere: if there are no others, no register is asked.
    """

    frame: labels.Frame
    kind: _Kind
    by: Grouping
    lang: Lang
    source: Register | None
    named: Collection[str] = ()

    @property
    def words(self) -> Mapping[str, str]:
        """The words of all charts."""
        return _WORDS[self.lang]

    @property
    def by_name(self) -> str:
        """What the groups are called, after "by"."""
        return drawing.WORDS[self.lang][self.by]

    @property
    def order(self) -> pl.Expr | None:
        """The order of the groups; None is that of their values."""
        return groups.in_order(self.by, pl.col("code")) if self.by in groups.ORDERED else None

    def counted(self) -> pl.DataFrame:
        """Return the counts of units."""
        register = self.source or current.register()
        return register.count_by(self.frame, self.by, lang=self.lang)

    def labelled(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the label of each code, without a register the code; and its kind unless known."""
        code = label = pl.col("code")
        is_named = set(rows["code"].drop_nulls()) <= set(self.named)
        if self.by in groups.GROUPS or (self.source is not None and not is_named):
            lookup = groups.codelist if self.source is None else self.source._lookup
            codelist = {"code": labels.FIELDS[self.by].codelist}
            rows = labels.resolve_labels(rows, lookup, lang=self.lang, columns=codelist)
            label = pl.coalesce("code_label", pl.when(code.is_in(list(self.named))).then(code))
        kind = [] if "kind" in rows.columns else [labels.kind_of(code, label).alias("kind")]
        return rows.with_columns(label.alias("label"), *kind)


def _kind(frame: labels.Frame) -> _Kind:
    """Return what a frame is; the only place that looks at its columns for that."""
    columns = labels.schema_of(frame)
    if columns.keys() >= _OF_SUMMARY and columns["by"] == pl.List(pl.String):
        return "summary"
    if are_those_of(frame, ESTIMATES):
        return "estimate"
    if are_those_of(frame, COUNTS):
        return "counts"
    return "values" if "code" in columns else "units"


def of_bars(
    frame: labels.Frame,
    by: Grouping | Sequence[Grouping] | None,
    value: str | None,
    lang: Lang,
    source: Register | None,
) -> DrawnTable:
    """Return the number of units of each code, or differences of numbers, as bars draw them.

    Args:
        frame: As given to the chart.
        by: As given to the chart.
        value: Of a summary: whose units are counted; None is its only one.
        lang: Language of all words.
        source: The register that has the labels of codes; None for none.
    """
    kind, words = _kind(frame), _WORDS[lang]
    if kind == "summary":
        summary, count = summaries.of_frame(frame, by, value), pl.col("n")
        called = f"{figures.called(summary.item, lang)}: {words['with']}"
        table = _of_summary(summary, "n", called, lang, source)
        rows = table.rows.with_columns(value=count, share=count / count.sum())
        rows = rows.filter(count > 0).select("code", "label", "value", "share", "kind", "rank")
        return table._replace(rows=rows, measure=words["count and share"])
    by = labels.field(by)
    assert isinstance(by, str)
    given = _Given(frame, kind, by, lang, source)
    if value is not None:
        fault = ": units are counted, and only a summary says of which value"
        raise invalid("value", value, fault, cure="leave it out")
    notes: list[str] = []
    if kind in ("counts", "estimate"):
        rows = checked(frame, by, COUNTS, "fk.count_by")
    else:
        rows = given.counted()
        if ungrouped := figures.without_group(frame, by):
            without = int(rows.filter(kind="no code")["count"].sum())
            numbers = {"n": without, "ungrouped": ungrouped}
            written = {name: number_format.whole(n, lang) for name, n in numbers.items()}
            notes.append(words["without size"].format(**written))
    table = _of_counts(given, rows.rename({"count": "value"}), in_short=False)
    measure = words["count and share"] if rows["share"].count() else table.measure
    if table.estimate is not None:
        measure = f"{table.measure} ({words['each alone']})"
    return table._replace(measure=measure, notes=notes)


def of_places(
    frame: labels.Frame,
    by: Literal["kraj", "okres"],
    value: str | None,
    statistic: str | None,
    per: str | None,
    lang: Lang,
    source: Register | None,
) -> DrawnTable:
    """Return one value of each region or district, as a map draws them.

    Args:
        frame: As given to the chart.
        by: The level.
        value: As given to the chart; None is the number of units, a difference, or a summary's only
            value.
        statistic: As given to the chart; None is the median.
        per: What the values are of, in the caller's words; None is our own.
        lang: Language of all words.
        source: The register that has the labels of codes without a tile; None for none.
    """
    kind = _kind(frame)
    given = _Given(frame, kind, by, lang, source, tiles.LEVELS[by])
    if kind == "summary" or (kind == "units" and value not in (None, "count")):
        table = _of_statistic(given, value, statistic or "median")
        return table if per is None else table._replace(measure=per)
    if statistic is not None:
        cure = "leave it out, or name an item or ratio of figures by value="
        raise invalid("statistic", statistic, ": these values have none", cure=cure)
    value, without = value or "count", ("–", "missing")
    if kind == "units":
        rows, without = (
            given.counted().select("code", "label", "kind", value="count"),
            ("0", "none"),
        )
    else:
        rows = _rows_of_codes(given, value)
    if value == "count" and per is None:
        return _of_counts(given, rows, in_short=True)._replace(without=without)
    called, own = figures.called(value, lang), value.replace("_", " ")
    name = own if called == own else figures.capitalized(called)  # the caller's words stay
    heading = given.words["heading"].format(value=name, by=given.by_name)
    write = _number_format_of(rows["value"], lang)
    if per is None and figures.kind(value) == "share":
        write = partial(_share, lang)
    measure = called if per is None else per
    return DrawnTable(rows, lang, heading, None, write, measure, without=without)


def of_spread(
    frame: labels.Frame,
    item: str,
    by: Grouping | Sequence[Grouping] | None,
    lang: Lang,
    source: Register | None,
    *,
    mark: int | None,
    limits: tuple[float, float] | None,
    max_difference: float | None,
) -> DrawnTable:
    """Return the quartiles of each code, or without groups the values, as `plot_spread` draws them.

    The quartiles are null of too few units.
    """
    kind = _kind(frame)
    fields = [] if by is None else arguments.names("by", by)
    if kind == "summary" or len(fields) > 1:
        of_units = {"mark": mark, "limits": limits, "max_difference": max_difference}
        for name, option in of_units.items():
            if option is not None:
                fault = ": a summary has no values of units"
                raise invalid(name, option, fault, give="the figures themselves, by one group")
        frame = frame if kind == "summary" else summarized(frame, item, by)
        summary = summaries.of_frame(frame, by, item)
        table = _of_summary(summary, "median", figures.called(summary.item, lang), lang, source)
        # Groups without any value are in the notes alone.
        boxes = table.rows.filter(pl.col("n") > 0).with_columns(
            value=pl.when(pl.col("n") >= FEWEST).then("median"),
            low="p10", q1="p25", q3="p75", high="p90",
            lost=0, marked=pl.lit(None, pl.Float64),
        )  # fmt: skip
        return table._replace(rows=boxes, measure=_WORDS[lang]["boxes"], are_boxes=True)
    if by is not None:
        by = labels.field(by if isinstance(by, str) else next(iter(by)))
        assert isinstance(by, str)
        if by in groups.GROUPS:
            frame = groups.with_group(frame.lazy(), by)
        elif by not in labels.schema_of(frame):
            raise invalid("by", by, "is not a column of the frame")
    values = figures.of_frame(frame, item, limits=limits, max_difference=max_difference)
    marked = None if mark is None else values.marked(mark)
    if by is None:
        return _of_values(values, values.present, lang)._replace(marked=marked)
    given = _Given(frame, kind, by, lang, source)
    table, code = _of_boxes(given, values), pl.col(by).cast(pl.String).alias("code")
    lost = values.present.filter(pl.col("value") <= 0).group_by(code).len("lost")
    at, marked_code = (None, None) if marked is None else (marked["limited"], marked[by])
    is_marked = pl.col("code") == pl.lit(marked_code, pl.String)
    boxes = table.rows.join(lost, on="code", how="left", maintain_order="left").with_columns(
        marked=pl.when(is_marked).then(pl.lit(at, pl.Float64))
    )
    marked = None if marked is None else {**marked, "code": marked_code}
    return table._replace(rows=boxes, marked=marked)


def of_years(
    frame: labels.Frame, item: str | None, statistic: str, lang: Lang, source: Register | None
) -> DrawnTable | None:
    """Return a statistic of each group and year of a summary; None of any other frame.

    The rows have ``year``, ``value`` and ``n``, the names ``group`` and ``member`` of their groups,
    that of a second group "" without one, and a ``colour``: of each member, or of each group if
    there are colours for all. Groups and members are in order.

    Raises:
        UsageError: As `summaries.of_frame`, or the second group has too many codes.
    """
    if _kind(frame) != "summary":
        return None
    summary = summaries.of_frame(frame, "kraj", item, of_years=True)
    table = _of_summary(summary, statistic, summary.called(lang, statistic), lang, source)
    fields, value = summary.fields, values_of.drawable(statistic)
    if statistic not in summaries.COUNTS:
        value = pl.when(pl.col("n") >= FEWEST).then(value)
    rows = table.rows.with_columns(value=value)
    if len(fields) == 2:
        rows = rows.with_columns(code="group_code", label="group")
    else:
        rows = rows.with_columns(member=pl.lit(""), member_rank=0)
    every = rows["code"].n_unique()
    rows = rows.filter(pl.col("value").is_not_null().any().over("code", "member"))
    left_out = {"few groups": every - rows["code"].n_unique()}
    notes = [*figures.numbered(_WORDS[lang], left_out, lang), *table.notes]
    by_rank = rows.sort(pl.col("code").is_null(), "rank", nulls_last=True)
    whole = by_rank.unique("code", maintain_order=True).select("code", "label", "kind")
    names = drawing.names(whole, lang, among=whole, short=True)
    members = rows.unique("member").sort("member_rank", nulls_last=True)
    if len(fields) == 2:
        if members.height > len(drawing.CODE_COLOURS):
            fault = f"the second group, {fields[1]!r}, has {members.height} codes"
            most = len(drawing.CODE_COLOURS)
            raise UsageError(fault, cure=f"name it first in by=, or filter up to {most} of them")
        of, shades = members.select("member"), colours(members[fields[1]], fields[1])
    else:
        of, shades = whole.select("code"), [drawing.BLUE] * whole.height
        if fields and whole.height <= len(drawing.CODE_COLOURS):
            shades = colours(whole["code"], fields[0])
    rows = whole.select("code", group=pl.Series(names, dtype=pl.String)).join(
        rows.drop("group", strict=False).sort("member_rank", "year", nulls_last=True),
        on="code", maintain_order="left_right", nulls_equal=True,
    ).join(
        of.with_columns(colour=pl.Series(shades)),
        on=of.columns, maintain_order="left", nulls_equal=True,
    )  # fmt: skip
    is_of_item = statistic not in ("share_top5", *summaries.COUNTS)
    item = summary.item if is_of_item else statistic
    return table._replace(rows=rows, notes=notes, item=item)


def _of_statistic(given: _Given, item: str | None, statistic: str) -> DrawnTable:
    """Return a statistic of an item or a ratio, of a summary or of the units of a frame.

    The medians of units are of all their years.
    """
    frame, by, lang = given.frame, given.by, given.lang
    arguments.one_of("statistic", statistic, (*summaries.STATISTICS, *summaries.COUNTS))
    if item is not None and given.kind != "summary":
        columns = labels.schema_of(frame)
        if by not in columns or (item not in columns and item not in ratios.NUMBERS):
            if meant := near(item, ["count", *columns, *ratios.NUMBERS]):
                raise invalid("value", item, "is not a column", cure=meant.strip())
            cure = f"give a frame with the columns 'code' and {item!r}"
            raise invalid("value", item, ": units can only be counted here", cure=cure)
        if statistic == "median":
            name = summaries.named(statistic, lang)
            return _of_boxes(given, figures.of_frame(frame, item), f" ({name})")._replace(
                measure=name
            )
        frame = summarized(frame, item, by)
    summary = summaries.of_frame(frame, by, item)
    if list(summary.fields) != [by]:
        fault, other = f": the summary was made by {list(summary.fields)}", summary.fields[:1]
        is_of_places = len(summary.fields) == 1 and other[0] in tiles.LEVELS
        give = f"by={other[0]!r}" if is_of_places else f"a summary of one value and year by {by!r}"
        raise invalid("by", by, fault, give=give)
    called = summary.called(lang, statistic)
    table = _of_summary(summary, statistic, called, lang, given.source, given.named)
    if statistic in summaries.COUNTS:
        rows = table.rows.select("code", "label", "kind", value=statistic)
        return table._replace(rows=_without_empty_kinds(rows))
    # As in boxes: a statistic of a few units is none.
    of_enough = pl.when(pl.col("n") >= FEWEST).then(values_of.drawable(statistic))
    rows = table.rows.select("code", "label", "kind", units="n", value=of_enough)
    return table._replace(rows=rows, without=("–", "few"))


def _of_counts(given: _Given, rows: pl.DataFrame, *, in_short: bool) -> DrawnTable:
    """Return counts of units, or their estimates with intervals."""
    lang, order = given.lang, given.order
    heading = drawing.WORDS[lang]["by"].format(by=given.by_name)
    estimate = None
    if given.kind == "estimate":
        estimate = counts.estimate_of(given.frame, given.by, lang)
    if estimate is None:
        write, total = _number_format_of(rows["value"], lang), int(rows["value"].sum())
        rows, measure = _without_empty_kinds(rows), given.words["count"]
        return DrawnTable(rows, lang, heading, total, write, measure, order=order)
    rows = estimate.with_bounds(rows.with_columns(estimate.hits))
    estimate = estimate.in_short(rows) if in_short else estimate
    return DrawnTable(
        _without_empty_kinds(rows),
        lang,
        heading,
        estimate.drawn,
        lambda number, _: estimate.write(number),
        estimate.measure,
        order=order,
        estimate=estimate,
    )


def _without_empty_kinds(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out kinds without a unit, such as those of an estimate."""
    return rows.filter((pl.col("kind") == "labelled") | pl.col("value").ne_missing(0))


def _of_values(values: Figures, rows: pl.DataFrame, lang: Lang) -> DrawnTable:
    """Return some of the values of a frame, each by itself."""
    item = values.item
    return DrawnTable(
        rows,
        lang,
        figures.capitalized(figures.called(item, lang)) + values.years + values.limits(lang),
        figures.number_of(rows, lang),
        lambda number, more: figures.written(item, number, lang, more),
        notes=values.notes(lang),
        of_figures=True,
        item=item,
        dated=values.several_years,
    )


def _of_boxes(given: _Given, values: Figures, statistic: str = "") -> DrawnTable:
    """Return the quartiles of each code, null of too few units.

    Args:
        given: The frame and its groups.
        values: Its rows.
        statistic: Which of the quartiles the heading names, "" for none.
    """
    lang, words = given.lang, given.words
    coded = values.present.drop_nulls(given.by)
    called = figures.capitalized(figures.called(values.item, lang) + statistic)
    heading = words["heading"].format(value=called, by=given.by_name)
    is_of_years = figures.counted(coded) == "unit-years"
    boxes = spread(coded, "value", given.by, limited="limited").rename({"median": "value"})
    return _of_values(values, coded, lang)._replace(
        rows=given.labelled(boxes),
        heading=heading + values.years + values.limits(lang),
        measure=" ".join([words["boxes"], *([words["unit-years"]] if is_of_years else [])]),
        notes=values.notes(lang, given.by),
        without=("–", "few"),
        order=given.order,
        are_boxes=True,
    )


def _of_summary(
    summary: Summary,
    statistic: str,
    called: str,
    lang: Lang,
    source: Register | None,
    named: Collection[str] = (),
) -> DrawnTable:
    """Return the groups of a summary, with all its columns.

    Args:
        summary: The summary.
        statistic: Which of its numbers are written.
        called: What is drawn, for the heading.
        lang: Language of all words.
        source: The register that has the labels of codes; None for none.
        named: Codes that have names elsewhere.
    """
    rows = _rows_of_groups(summary, statistic, lang, source, named)
    return DrawnTable(
        rows,
        lang,
        summary.heading(lang, called),
        summary.covered(lang),
        lambda number, more: summary.write(statistic, number, lang, more),
        summaries.named(statistic, lang),
        summary.notes(lang),
        of_figures=True,
        order=pl.col("rank") if summary.ordered else None,
        groups=Groups.of(rows, summary.fields, lang),
        longest=summary.longest,
        item=summary.item,
    )


def _rows_of_codes(given: _Given, value: str) -> pl.DataFrame:
    """Return ``code``, ``value``, ``label`` and ``kind`` of a frame with codes of places.

    A ``kind`` that is not one of counts is replaced by ours.
    """
    frame, by = given.frame, given.by
    check_made_by(frame, by)
    schema = labels.schema_of(frame)
    numbers = [name for name, dtype in schema.items() if dtype.is_numeric()]
    if value not in numbers:
        fault = f"is {schema[value]}" if value in schema else "is not a column"
        raise invalid(
            "value",
            value,
            fault,
            cure=f"{near(value, numbers)}give a column of numbers, "
            + (f"of {numbers}" if numbers else "there is none"),
        )
    if not labels.holds_codes(schema["code"]):
        raise UsageError(f"the column 'code' is {schema['code']}", cure="codes are text")
    kind = ["kind"] if schema.get("kind") == pl.String else []
    code = pl.col("code").cast(pl.String)
    column = labels.column_of(schema, value).alias("value")
    rows = frame.lazy().select(code, column, *kind).collect()
    (other_level,) = set(tiles.LEVELS) - {by}
    strange = rows.filter(pl.col("code").is_in(list(tiles.LEVELS[other_level])))["code"]
    if strange.len():
        raise invalid(
            "by", by, f": {strange[0]!r} is a code of the other level", give=f"{other_level!r}"
        )
    twice = rows.filter(pl.col("code").is_duplicated() & pl.col("code").is_not_null())["code"]
    if twice.len():
        raise invalid("frame", ..., f": {twice[0]!r} appears in two rows", give="each code once")
    if rows["value"].dtype.is_float():
        rows = rows.with_columns(values_of.drawable("value"))
    if kind and not set(rows["kind"]) <= set(KINDS):
        rows = rows.drop("kind")
    return given.labelled(rows)


def _rows_of_groups(
    summary: Summary,
    statistic: str,
    lang: Lang,
    source: Register | None,
    named: Collection[str] = (),
) -> pl.DataFrame:
    """Return the rows of a summary by their groups, and the ``rank`` of each among all.

    Groups without an order of their own stand in that of their numbers, about: of the mean of
    medians, or of the sum.
    """
    table, fields = summary.table, summary.fields
    if not fields:
        whole = pl.lit(_WORDS[lang]["whole"])
        return table.with_columns(code=whole, label=whole, kind=pl.lit("labelled"), rank=0)
    order = [
        groups.in_order(field, pl.col(field)).cast(pl.UInt32) if field in groups.ORDERED
        else pl.col(field).rank("dense")
        for field in fields
    ]  # fmt: skip
    if len(fields) == 1:
        rows = table.with_columns(code=fields[0], rank=order[0].rank("ordinal"))
        return _Given(rows, "summary", fields[0], lang, source, named).labelled(rows)
    empty = groups.codelist("age").clear()
    lookup = source._lookup if source is not None else lambda _: empty
    label_of = [labels.FIELDS[field].label for field in fields]
    no_code = pl.lit(drawing.WORDS[lang]["no code"])
    parts = [pl.coalesce(pl.col(label).replace(drawing.wordings()), field, no_code)
             for label, field in zip(label_of, fields, strict=True)]  # fmt: skip
    number, first = pl.col(statistic).cast(pl.Float64), fields[0]
    if first not in groups.ORDERED:
        is_number = statistic in ("sum", *summaries.COUNTS)
        whole = number.sum() if is_number else (number * pl.col("n")).sum() / pl.col("n").sum()
        order[0] = -whole.over(first)
    abroad = pl.col(first).str.starts_with(_ABROAD)
    short = [part.map_elements(lambda text: drawing.shortened(text, _LONGEST), pl.String)
             for part in parts]  # fmt: skip
    by_rank = [key for label, rank in zip(label_of, order, strict=True)
               for key in (pl.col(label).is_null(), rank)]  # fmt: skip
    return (
        labels.resolve_labels(table, lookup, lang=lang, columns=fields)
        .sort(pl.col(label_of[0]).is_null(), abroad, *by_rank, nulls_last=True)
        .with_columns(
            code=pl.concat_str([pl.col(field).fill_null("") for field in fields], separator="|"),
            group=parts[0],
            group_code=pl.col(fields[0]).fill_null(""),
            member=parts[1],
            member_rank=order[1],
            label=pl.concat_str(short, separator=_BETWEEN),
            kind=pl.lit("labelled"),
            rank=pl.int_range(pl.len()),
        )
    )


def _number_format_of(values: pl.Series, lang: Lang) -> Callable[[float, int], str]:
    """Return the format of values: whole, or with three significant digits of the median."""
    present = values.drop_nulls()
    if values.dtype.is_integer() or (present == present.round()).all():
        return lambda number, _: number_format.whole(int(number), lang).replace("-", "−")
    middle = present.cast(pl.Float64).abs().filter(present != 0).median()
    size = math.floor(math.log10(middle)) if isinstance(middle, float) else 2
    places = min(max(2 - size, 0), 9)
    return lambda number, more: number_format.decimal(float(number), lang, places + more).replace(
        "-", "−"
    )


def _share(lang: Lang, number: float, more: int) -> str:
    return number_format.percent(number, lang, more).replace("-", "−")


def drawn_rows(table: pl.DataFrame, top: int, order: pl.Expr | None = None) -> pl.DataFrame:
    """Return the rows to draw: `top` labelled ones, one for the rest, one per other kind.

    The labelled rows are those furthest from zero, `in_order` of their values or of *order*. The
    columns are those of the table, without those that name what it was made by, and ``codes``, the
    number of codes summed in a row; the total is unchanged. The rest has the kind ``rest`` and no
    code. Other kinds without a unit are left out.
    """
    table = table.drop("by", strict=False)
    labelled = table.filter(pl.col("kind") == "labelled").sort(
        pl.col("value").abs(), "code", descending=[True, False]
    )
    largest = labelled.head(top)
    largest = in_order(largest, order)
    rest = pl.lit(None, pl.String).alias("code"), pl.lit("rest").alias("kind")
    groups = [labelled.slice(top).with_columns(rest)]
    others = table.filter(pl.any_horizontal(cs.numeric() != 0))
    groups += [others.filter(pl.col("kind") == kind) for kind in KINDS[1:]]
    rows = [largest.with_columns(pl.lit(1, pl.Int64).alias("codes"))]
    rows += [_summed(group) for group in groups if group.height]
    return pl.concat(part.select(*table.columns, "codes") for part in rows)


def in_order(rows: pl.DataFrame, order: pl.Expr | None) -> pl.DataFrame:
    """Return rows in the order of their values, largest first, or in another; abroad is last."""
    by_value = -pl.col("value") if order is None else order
    abroad = pl.col("code").str.starts_with(_ABROAD)
    return rows.sort(abroad, by_value, "code", nulls_last=True)


def _summed(group: pl.DataFrame) -> pl.DataFrame:
    only = group["code"][0] if group.height == 1 else None
    numbers = group.select(cs.numeric())
    return group.select(
        pl.lit(only, pl.String).alias("code"),
        pl.lit(None, pl.String).alias("label"),
        # A share that is not known is none of zero.
        *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name)
          for name in numbers.columns),
        pl.col("kind").first(),
        pl.len().cast(pl.Int64).alias("codes"),
    )  # fmt: skip
