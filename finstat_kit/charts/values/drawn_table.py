"""What charts draw of a frame: one row per code, and the words around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import cycle
from typing import Final, Literal, NamedTuple, cast

import polars as pl
import polars.selectors as cs

from finstat_kit import arguments
from finstat_kit.arguments import Grouping, Lang, near
from finstat_kit.charts.parts import drawing, tiles
from finstat_kit.charts.values import counts, figures, summaries
from finstat_kit.charts.values.summaries import Summary
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.client.summary import summary as summary_of
from finstat_kit.errors import UsageError, invalid
from finstat_kit.frames.counts.count_by import COUNTS, KINDS, are_those_of, checked, made_by
from finstat_kit.frames.counts.estimation import ESTIMATES
from finstat_kit.frames.financials import ratios
from finstat_kit.frames.findings import values as values_of
from finstat_kit.frames.findings.summary import FEWEST, QUANTILES
from finstat_kit.frames.places import groups, labels
from finstat_kit.frames.text import number_format
from finstat_kit.frames.text.catalogue import Words

_LONGEST: Final = 18  # letters of a label beside another
_BETWEEN: Final = " · "
_ABROAD: Final = "SKZZ"  # begins the codes of places that stand last in every order of values
_NOT_ON_SCALE: Final = (None, groups.UNKNOWN, "00")  # of ages and sizes: not known
_UNKNOWN: Final = ""  # the code of all rows without a known one
_ENDS: Final = {"low": "p10", "q1": "p25", "q3": "p75", "high": "p90"}  # of boxes
_WORDS: Final = Words("drawn_table")


class DrawnTable(NamedTuple):
    """What a chart draws: one row per code, and the words around it.

    Attributes:
        rows: ``code``, ``label``, ``kind`` as in counts, and ``value``; ``rank`` where the rows
            have another order than that of their values. Of counts also ``share``, of an estimate
            ``low`` and ``high``, of boxes these and ``q1``, ``q3`` and ``n``, of statistics
            ``units``, those with a value. Of two groups also the name of each, ``group`` and
            ``member``, and a ``colour`` per member.
        lang: Language of all words.
        heading: What is drawn, by which groups, of which years.
        units: The number of units, or a text; None of values that may be of anything.
        write: Writes a value, with so many more decimals than usual.
        measure: What a value is.
        notes: On rows that are not shown, and on what the values cover.
    """

    rows: pl.DataFrame
    lang: Lang
    heading: str
    units: int | str | None
    write: Callable[[float, int], str]
    measure: str = ""
    notes: Sequence[str] = ()

    def known(self, *, unknown: bool) -> DrawnTable:
        """Leave out the rows without a known code, unless asked for, and note their units."""
        is_known = pl.col("kind") == "labelled"
        left_out = self.rows.filter(~is_known)
        if unknown or left_out.is_empty():
            return self
        number = number_format.units(_units(left_out), self.lang)
        note = _WORDS[self.lang]["unknown"].format(units=number)
        return self._replace(rows=self.rows.filter(is_known), notes=[*self.notes, note])


def beside(rows: pl.DataFrame, lang: Lang) -> list[str]:
    """Write the interval of each value, or its share; "" without either."""
    if "high" in rows.columns:
        return [counts.interval(low, high, lang) for low, high in rows.select("low", "high").rows()]
    shares = rows["share"] if "share" in rows.columns else [None] * rows.height
    return ["" if share is None else number_format.percent(share, lang) for share in shares]


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


def of_bars(
    frame: labels.Frame,
    by: Grouping | Sequence[Grouping] | None,
    value: str | None,
    lang: Lang,
    source: Register | None,
) -> DrawnTable:
    """Return the number of units of each code, as bars draw them.

    Args:
        frame: As given to the chart.
        by: As given to the chart.
        value: Of a summary: whose units are counted; None is its only one.
        lang: Language of all words.
        source: The register that has the labels of codes; None for none.
    """
    words = _WORDS[lang]
    if summaries.is_one(frame):
        summary, count = summaries.of_frame(frame, by, value), pl.col("n")
        called = f"{figures.called(summary.item, lang)}: {words['with']}"
        table = _of_summary(summary, "n", called, lang, source)
        rows = table.rows.with_columns(value=count, share=count / count.sum()).filter(count > 0)
        return table._replace(rows=rows, measure=words["count and share"])
    by = labels.field(by)
    assert isinstance(by, str)
    if value is not None:
        fault = ": units are counted, and only a summary says of which value"
        raise invalid("value", value, fault, cure="leave it out")
    notes: list[str] = []
    if are_those_of(frame, COUNTS):
        table = _of_counts(frame, by, lang)
    else:
        table = _counted(frame, by, lang, source)
        if ungrouped := figures.without_group(frame, by):
            without = int(table.rows.filter(kind="no code")["value"].sum())
            numbers = {"n": without, "ungrouped": ungrouped}
            written = {name: number_format.whole(n, lang) for name, n in numbers.items()}
            notes.append(words["without size"].format(**written))
    has_shares = "high" not in table.rows.columns and table.rows["share"].count()
    measure = words["count and share"] if has_shares else table.measure
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
        value: As given to the chart; None is the number of units, or a summary's only value.
        statistic: As given to the chart; None is the median.
        per: What the values are of, in the caller's words; None is our own.
        lang: Language of all words.
        source: The register that has the labels of codes without a tile; None for none.
    """
    is_of_codes = "code" in labels.schema_of(frame)
    is_summary = summaries.is_one(frame)
    if is_summary or not (is_of_codes or value in (None, "count")):
        table = _of_statistic(frame, by, value, statistic or "median", lang, source)
        return table if per is None else table._replace(measure=per)
    if statistic is not None:
        cure = "leave it out, or name an item or ratio of figures by value="
        raise invalid("statistic", statistic, ": these values have none", cure=cure)
    if not is_of_codes:
        return _counted(frame, by, lang, source)
    value = value or "count"
    rows = _rows_of_codes(frame, by, value, lang, source)
    if value == "count" and per is None:
        number = pl.col("value")
        strange = rows.filter((number < 0) | (number != number.floor()))["value"]
        if strange.len():
            fault, give = f": {strange[0]!r} in 'count' is no number of units", "per= for others"
            raise invalid("frame", ..., fault, give=give)
        is_estimate = are_those_of(frame, ESTIMATES)
        table = _of_counts(frame, by, lang) if is_estimate else _table_of_counts(rows, by, lang)
        measure = table.measure
        if "high" in table.rows.columns:
            measure = counts.measure(lang, mapped=True)
        return table._replace(rows=_without_empty_kinds(rows), measure=measure)
    called, own = figures.called(value, lang), value.replace("_", " ")
    name = own if called == own else figures.capitalized(called)  # the caller's words stay
    heading = _heading(name, by, lang)
    is_share = per is None and figures.kind(value) == "share"
    write = _number_format_of(rows["value"], lang, share=is_share)
    return DrawnTable(rows, lang, heading, None, write, called if per is None else per)


def of_spread(
    frame: labels.Frame,
    item: str,
    by: Grouping | Sequence[Grouping],
    lang: Lang,
    source: Register | None,
) -> DrawnTable:
    """Return the quartiles of each code, null of too few units, as `plot_spread` draws them."""
    fields = [labels.field(name) for name in arguments.names("by", by)]
    is_summary = summaries.is_one(frame)
    notes: list[str] = []
    if not is_summary and groups.OF_2_1.keys() & fields and "nace" not in labels.schema_of(frame):
        notes.append(_WORDS[lang]["rev_2"])
    if is_summary or len(fields) > 1:
        frame = frame if is_summary else summary_of(frame, item, by, register=source)
        summary = summaries.of_frame(frame, by, item)
        table = _of_summary(summary, "median", figures.called(summary.item, lang), lang, source)
        # Groups without any value are in the notes alone.
        boxes = table.rows.filter(pl.col("n") > 0).with_columns(
            value=pl.when(pl.col("n") >= FEWEST).then("median"),
            lost=0, **_ENDS,
        )  # fmt: skip
        notes = [*table.notes, *notes]
        return table._replace(rows=boxes, measure=_WORDS[lang]["boxes"], notes=notes)
    field = cast("Grouping", fields[0])
    made: str = field
    if field in groups.GROUPS:
        frame, made = groups.with_group(frame.lazy(), field)
        frame = frame.rename({field: made} if made != field else {})
    elif field not in labels.schema_of(frame):
        raise invalid("by", field, "is not a column of the frame")
    table = _of_boxes(frame, item, cast("Grouping", made), lang, source)
    return table._replace(notes=[*table.notes, *notes])


def of_years(
    frame: labels.Frame,
    item: str | None,
    statistic: str,
    lang: Lang,
    source: Register | None,
    *,
    unknown: bool,
) -> DrawnTable | None:
    """Return a statistic of each group and year of a summary; None of any other frame.

    The rows have ``year``, ``value`` and ``n``, and the names ``group`` and ``member`` of their
    groups, that of a second group "" without one. Groups and members are in order.

    Raises:
        UsageError: As `summaries.of_frame`, or the second group has too many codes.
    """
    if not summaries.is_one(frame):
        return None
    summary = summaries.of_frame(frame, "kraj", item, of_years=True)
    summary.check(statistic)
    table = _of_summary(summary, statistic, summary.called(lang, statistic), lang, source)
    table = table.known(unknown=unknown)
    value = values_of.drawable(statistic)
    if statistic not in summaries.COUNTS:
        value = pl.when(pl.col("n") >= FEWEST).then(value)
    rows = table.rows.with_columns(value_name="value", value=value)
    rows = rows if "rank" in rows.columns else rows.with_columns(rank=pl.col("code").rank("dense"))
    if "member" not in rows.columns:
        first = rows.sort("rank", nulls_last=True).unique("code", maintain_order=True)
        shades = [drawing.BLUE] * first.height
        if summary.fields and first.height <= len(drawing.CODE_COLOURS):
            shades = colours(first["code"], summary.fields[0])
        named = first.select(
            "code",
            group_code="code",
            group=pl.Series(drawing.names(first, lang, among=first), dtype=pl.String),
            colour=pl.Series(shades, dtype=pl.String),
        )
        rows = rows.join(named, on="code", how="left", nulls_equal=True)
        rows = rows.with_columns(member=pl.lit(""), member_rank=0)
    elif "colour" not in rows.columns and rows.height:
        number, most = rows["member"].n_unique(), len(drawing.CODE_COLOURS)
        fault = f"the second group, {summary.fields[1]!r}, has {number} codes"
        raise UsageError(fault, cure=f"name it first in by=, or filter up to {most} of them")
    groups_left_out = rows.group_by("group_code").agg(
        pl.col("value").is_null().all(), pl.col("n").max() < FEWEST
    )
    are_few = groups_left_out.filter("value")["n"]
    left_out = {"few groups": int(are_few.sum()), "empty groups": int((~are_few).sum())}
    rows = rows.filter(pl.col("value").is_not_null().any().over("group_code", "member"))
    notes = [*figures.numbered(_WORDS[lang], left_out, lang), *table.notes]
    return table._replace(rows=rows.sort("rank", "year", nulls_last=True), notes=notes)


def _of_statistic(
    frame: labels.Frame,
    by: Literal["kraj", "okres"],
    item: str | None,
    statistic: str,
    lang: Lang,
    source: Register | None,
) -> DrawnTable:
    """Return a statistic of an item or a ratio, of a summary or of the units of a frame.

    The medians of units are of all their years.
    """
    arguments.one_of("statistic", statistic, (*summaries.STATISTICS, *summaries.COUNTS))
    if item is not None and not summaries.is_one(frame):
        columns = labels.schema_of(frame)
        if by not in columns or (item not in columns and item not in ratios.NUMBERS):
            if meant := near(item, ["count", *columns, *ratios.NUMBERS]):
                raise invalid("value", item, "is not a column", cure=meant.strip())
            cure = f"give a frame with the columns 'code' and {item!r}"
            raise invalid("value", item, ": units can only be counted here", cure=cure)
        if statistic == "median":
            name = summaries.named(statistic, lang)
            return _of_boxes(frame, item, by, lang, source, f" ({name})")._replace(measure=name)
        frame = summary_of(frame, item, by, register=source)
    summary = summaries.of_frame(frame, by, item)
    summary.check(statistic)
    if list(summary.fields) != [by]:
        fault, other = f": the summary was made by {list(summary.fields)}", summary.fields[:1]
        is_of_places = len(summary.fields) == 1 and other[0] in tiles.LEVELS
        give = f"by={other[0]!r}" if is_of_places else f"a summary of one value and year by {by!r}"
        raise invalid("by", by, fault, give=give)
    called = summary.called(lang, statistic)
    table = _of_summary(summary, statistic, called, lang, source, tiles.LEVELS[by])
    if statistic in summaries.COUNTS:
        rows = table.rows.select("code", "label", "kind", value=statistic)
        return table._replace(rows=_without_empty_kinds(rows))
    # As in boxes: a statistic of a few units is none.
    of_enough = pl.when(pl.col("n") >= FEWEST).then(values_of.drawable(statistic))
    return table._replace(rows=table.rows.select("code", "label", "kind", "n", value=of_enough))


def _counted(frame: labels.Frame, by: Grouping, lang: Lang, source: Register | None) -> DrawnTable:
    """Return the number of units of each code of a frame of units."""
    rows = (source or current.register()).count_by(frame, by, lang=lang)
    return _table_of_counts(rows.rename({"count": "value"}), made_by(rows, by), lang)


def _of_counts(frame: labels.Frame, by: Grouping, lang: Lang) -> DrawnTable:
    """Return given counts, or estimates with their intervals."""
    if not are_those_of(frame, ESTIMATES):
        rows = checked(frame, by, COUNTS, "fk.count_by")
        return _table_of_counts(rows.rename({"count": "value"}), made_by(frame, by), lang)
    rows, n, listed = counts.of_estimate(frame, by)
    table = _table_of_counts(rows.rename({"count": "value"}), by, lang)
    if "high" not in rows.columns:
        return table
    return table._replace(units=counts.drawn(n, listed, lang), measure=counts.measure(lang))


def _table_of_counts(rows: pl.DataFrame, by: str, lang: Lang) -> DrawnTable:
    heading = drawing.WORDS[lang]["by"].format(by=drawing.WORDS[lang][by])
    if by in groups.ORDERED:
        rows = rows.with_columns(rank=groups.in_order(by, pl.col("code")))
    write, total = _number_format_of(rows["value"], lang), int(rows["value"].sum())
    rows = _without_empty_kinds(rows)
    return DrawnTable(rows, lang, heading, total, write, _WORDS[lang]["count"])


def _without_empty_kinds(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out kinds without a unit, such as those of an estimate."""
    return rows.filter((pl.col("kind") == "labelled") | pl.col("value").ne_missing(0))


def _heading(value: str, by: Grouping, lang: Lang) -> str:
    return _WORDS[lang]["heading"].format(value=value, by=drawing.WORDS[lang][by])


def _of_boxes(
    frame: labels.Frame,
    item: str,
    by: Grouping,
    lang: Lang,
    source: Register | None,
    statistic: str = "",
) -> DrawnTable:
    """Return the quartiles of each code, null of too few units; all unknown codes are one.

    Args:
        frame: Figures.
        item: Whose quartiles they are.
        by: The groups.
        lang: Language of all words.
        source: The register that has the labels of codes; None for none.
        statistic: Which of the quartiles the heading names, "" for none.
    """
    words = _WORDS[lang]
    if not labels.holds_codes(dtype := labels.schema_of(frame)[by]):
        raise UsageError(f"the column {by!r} is {dtype}", cure=labels.CODES_ARE_TEXT)
    values = figures.of_frame(frame, item)
    present = values.present.with_columns(pl.col(by).cast(pl.String).alias("code"))
    named = tiles.LEVELS.get(by, {}) if statistic else ()
    codes = _labelled(present.select("code").unique(), by, lang, source, named)
    is_known = pl.col("code").is_in(codes.filter(kind="labelled")["code"].implode())
    coded = present.with_columns(code=pl.when(is_known).then("code").otherwise(pl.lit(_UNKNOWN)))
    number = pl.col("value")
    unit = pl.col("unit_id") if "unit_id" in coded.columns else pl.int_range(pl.len())
    ends = {name: number.quantile(QUANTILES[end], "linear") for name, end in _ENDS.items()}
    is_enough = unit.n_unique() >= FEWEST
    rows = (
        coded.group_by("code")
        .agg(
            pl.when(is_enough).then(number.median()),
            units=unit.n_unique(),
            n=pl.len(),
            lost=(number <= 0).sum(),
            **{name: pl.when(is_enough).then(end) for name, end in ends.items()},
        )
        .sort("value", "code", descending=[True, False], nulls_last=True)
        .join(codes, on="code", how="left", maintain_order="left")
        .with_columns(pl.col("kind").fill_null("unknown"))
    )
    if by in groups.ORDERED:
        rows = rows.with_columns(rank=groups.in_order(by, pl.col("code")))
    known = coded.filter(pl.col("code") != _UNKNOWN)
    is_of_years = figures.counted(known) == "unit-years"
    return DrawnTable(
        rows,
        lang,
        _heading(figures.capitalized(figures.called(item, lang) + statistic), by, lang)
        + values.years,
        figures.number_of(known, lang),
        lambda number, more: figures.written(item, number, lang, more),
        " ".join([words["boxes"], *([words["unit-years"]] if is_of_years else [])]),
        values.notes(lang, by),
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
    table, fields = summary.table, summary.fields
    if len(fields) == 2:
        rows = _rows_of_pairs(summary, statistic, lang, source)
    elif fields:
        rows = _labelled(table.with_columns(code=fields[0]), fields[0], lang, source, named)
        kind = pl.when(pl.col("kind") == "labelled").then("kind").otherwise(pl.lit("unknown"))
        rows = rows.with_columns(kind=kind)
        if fields[0] in groups.ORDERED:
            rows = rows.with_columns(rank=groups.in_order(fields[0], pl.col("code")))
    else:
        whole = pl.lit(_WORDS[lang]["whole"])
        rows = table.with_columns(code=whole, label=whole, kind=pl.lit("labelled"))
    return DrawnTable(
        rows,
        lang,
        summary.heading(lang, called),
        summary.covered(lang),
        lambda number, more: summary.write(statistic, number, lang, more),
        summaries.named(statistic, lang),
        summary.notes(lang),
    )


def _labelled(
    rows: pl.DataFrame,
    by: Grouping,
    lang: Lang,
    source: Register | None,
    named: Collection[str] = (),
) -> pl.DataFrame:
    """Add the label of each code, without a register the code; and its kind unless known.

    If all codes have names elsewhere, no register is asked.
    """
    code = label = pl.col("code")
    is_named = set(rows["code"].drop_nulls()) <= set(named)
    if by in groups.GROUPS or (source is not None and not is_named):
        lookup = groups.codelist if source is None else source._lookup
        codelist = {"code": labels.FIELDS[by].codelist}
        rows = labels.resolve_labels(rows, lookup, lang=lang, columns=codelist)
        label = pl.coalesce("code_label", pl.when(code.is_in(list(named))).then(code))
    kind = (
        [] if "kind" in rows.columns else [labels.kind_of(code, label.is_not_null()).alias("kind")]
    )
    return rows.with_columns(label.alias("label"), *kind)


def _rows_of_codes(
    frame: labels.Frame,
    by: Literal["kraj", "okres"],
    value: str,
    lang: Lang,
    source: Register | None,
) -> pl.DataFrame:
    """Return ``code``, ``value``, ``label`` and ``kind`` of a frame with codes of places.

    A ``kind`` that is not one of counts is replaced by ours.
    """
    made_by(frame, by)
    frame = values_of.with_value(frame, value)
    schema = frame.schema
    if not labels.holds_codes(schema["code"]):
        raise UsageError(f"the column 'code' is {schema['code']}", cure="codes are text")
    kind = ["kind"] if schema.get("kind") == pl.String else []
    code = pl.col("code").cast(pl.String)
    column = labels.column_of(schema, value).alias("value")
    if not schema[value].is_numeric():  # of yes or no, or without any value
        column = column.cast(pl.Float64)
    rows = frame.select(code, column, *kind)
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
    return _labelled(rows, by, lang, source, tiles.LEVELS[by])


def _rows_of_pairs(
    summary: Summary, statistic: str, lang: Lang, source: Register | None
) -> pl.DataFrame:
    """Return the rows of a summary by two groups, and the ``rank`` of each among all.

    Groups without an order of their own stand in that of their numbers, about: of the mean of
    medians, or of the sum.
    """
    table, fields = summary.table, summary.fields
    order = [
        groups.in_order(field, pl.col(field)).cast(pl.UInt32) if field in groups.ORDERED
        else pl.col(field).rank("dense")
        for field in fields
    ]  # fmt: skip
    empty = groups.codelist("age").clear()
    lookup = source._lookup if source is not None else lambda _: empty
    label_of = [labels.FIELDS[field].label for field in fields]
    unknown = pl.lit(drawing.WORDS[lang]["unknown"])
    label = [pl.col(name).replace(drawing.wordings()) for name in label_of]
    label[0] = drawing.bare(label[0], pl.col(fields[0]))
    parts = [pl.coalesce(label, field, unknown)
             for label, field in zip(label, fields, strict=True)]  # fmt: skip
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
    # Without a register every code is its own name.
    is_known = [name.is_not_null() if source is not None or field in groups.GROUPS
                else pl.col(field).is_not_null()
                for name, field in zip(map(pl.col, label_of), fields, strict=True)]  # fmt: skip
    rows = (
        labels.resolve_labels(table, lookup, lang=lang, columns=fields)
        .sort(pl.col(label_of[0]).is_null(), abroad, *by_rank, nulls_last=True)
        .with_columns(
            code=pl.concat_str([pl.col(field).fill_null("") for field in fields], separator="|"),
            group=parts[0].map_elements(drawing.shortened, pl.String),
            group_code=pl.col(fields[0]).fill_null(""),
            member=parts[1].map_elements(drawing.shortened, pl.String),
            member_rank=pl.when(is_known[1]).then(order[1]),
            label=pl.concat_str(short, separator=_BETWEEN),
            kind=pl.when(*is_known).then(pl.lit("labelled")).otherwise(pl.lit("unknown")),
            rank=pl.int_range(pl.len()),
        )
    )
    members = rows.sort("member_rank", nulls_last=True).unique("member", maintain_order=True)
    if members.height > len(drawing.CODE_COLOURS):
        return rows
    shades = colours(members[fields[1]], fields[1])
    of_member = members.select("member", colour=pl.Series(shades, dtype=pl.String))
    return rows.join(of_member, on="member", how="left", maintain_order="left")


def _number_format_of(
    values: pl.Series, lang: Lang, *, share: bool = False
) -> Callable[[float, int], str]:
    """Return the format of values: whole, or with three significant digits of the median."""
    if share:
        return lambda number, more: number_format.percent(number, lang, more).replace("-", "−")
    present = values.drop_nulls()
    if values.dtype.is_integer() or (present == present.round()).all():
        return lambda number, _: number_format.whole(int(number), lang).replace("-", "−")
    middle = present.cast(pl.Float64).abs().filter(present != 0).median()
    size = math.floor(math.log10(middle)) if isinstance(middle, float) else 2
    places = min(max(2 - size, 0), 9)
    return lambda number, more: number_format.decimal(float(number), lang, places + more).replace(
        "-", "−"
    )


def _units(rows: pl.DataFrame) -> int:
    """Return the number of units with a value in some rows, of years the largest."""
    number = pl.min_horizontal("units", "n")
    years = rows.group_by("year" if "year" in rows.columns else pl.lit(0)).agg(number.sum())
    return int(years.to_series(1).max() or 0)  # type: ignore[arg-type]


def drawn_rows(rows: pl.DataFrame, top: int) -> pl.DataFrame:
    """Return the rows to draw: the *top* largest labelled ones, and one per other kind.

    They are `in_order`; ``codes`` is the number of codes summed in a row. Other kinds without a
    unit are left out.
    """
    labelled = rows.filter(kind="labelled").sort("value", "code", descending=[True, False])
    largest = in_order(labelled.head(top)).with_columns(codes=pl.lit(1, pl.Int64))
    others = rows.filter(pl.any_horizontal(cs.numeric() != 0))
    kinds = [others.filter(pl.col("kind") == kind) for kind in (*KINDS[1:], "unknown")]
    parts = [largest, *(_summed(group) for group in kinds if group.height)]
    return pl.concat(part.select(*rows.columns, "codes") for part in parts)


def left_out(rows: pl.DataFrame, drawn: pl.DataFrame) -> tuple[int, int]:
    """Return the number of labelled codes that are not among the rows drawn, and of their units."""
    numbers = [part.filter(kind="labelled").select(pl.len(), pl.col("value").sum()).row(0)
               for part in (rows, drawn)]  # fmt: skip
    (every, whole), (some, part) = numbers
    return every - some, int(whole - part)


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows in their own order, else that of their values, largest first; abroad is last."""
    order = "rank" if "rank" in rows.columns else "value"
    is_known = pl.col("kind") == "labelled"
    abroad = pl.col("code").str.starts_with(_ABROAD)
    down = [False, False, order == "value", False]
    return rows.sort(~is_known, abroad, order, "code", descending=down, nulls_last=True)


def _summed(group: pl.DataFrame) -> pl.DataFrame:
    if group.height == 1:
        return group.with_columns(codes=pl.lit(1, pl.Int64))
    numbers = group.select(cs.numeric()).columns
    return group.head(1).with_columns(
        pl.lit(None, pl.String).alias("code"),
        pl.lit(None, pl.String).alias("label"),
        # A share that is not known is none of zero.
        *(pl.lit(group[name].sum() if group[name].null_count() == 0 else None, group[name].dtype)
          .alias(name) for name in numbers),
        codes=pl.lit(group.height, pl.Int64),
    )  # fmt: skip
