"""Comparisons of two counts as bars and maps."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pytest
from matplotlib.colors import to_hex

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing, tiles
from finstat_kit.charts.values.drawn_table import drawn_rows
from tests.support.examples import slow
from tests.support.pictures import (
    axes,
    bars,
    check_legible,
    drawn,
    notes,
    own,
    tile_numbers,
    written,
)
from tests.support.units import all_units

LANGS: list[Lang] = ["sk", "en"]


@cache
def part_a() -> pl.DataFrame:
    return all_units().filter(pl.col("id") % 3 == 0)


@cache
def part_b() -> pl.DataFrame:
    falling = (pl.col("kraj") != "SK023") | (pl.col("id") % 2 == 0)
    return all_units().filter((pl.col("id") % 3 == 1) & falling)


@pytest.mark.parametrize("lazy", [False, True])
def test_bars_are_the_differences(lazy: bool) -> None:
    """Rises from zero to the right, falls to the left, with signs; nothing is lost."""
    compared = fk.compare(part_a(), part_b(), lang="en")
    ax = fk.plot_counts(compared.lazy() if lazy else compared, lang="en", ax=axes())

    found = bars(ax)
    nitra = compared.filter(code="SK023")["difference"][0]
    labelled = [by for name, by in found.items() if name.startswith("Reg")]
    assert sum(found.values()) == part_b().height - part_a().height
    assert found["Region of Nitra"] == nitra < 0
    assert labelled == sorted(labelled, reverse=True)
    assert f"−{-nitra}" in written(ax)
    assert f"+{max(labelled):.0f}" in written(ax)
    low, high = ax.get_xlim()
    assert low < min(found.values()) < 0 < max(found.values()) < high
    assert ax.get_title().split("\n")[0] == "Difference in the number of accounting units by region"
    assert f"{part_a().height:,} → {part_b().height:,} units" in ax.get_title()


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "top"), [("sk", 1), *slow(("en", 20))])
def test_differences_are_legible(lang: Lang, top: int | None) -> None:
    """A rest of any size hides nothing, in either direction."""
    a, b = part_a(), part_b()
    for before, after in ((a, b), (a.head(0), b), (a, b.head(0))):
        compared = fk.compare(before, after, "okres", lang=lang)
        rows = drawn_rows(compared.rename({"difference": "value"}), top or 30)
        ax = fk.plot_counts(compared, "okres", lang=lang, top=top, ax=own(rows.height))

        check_legible(ax)
        assert rows["value"].sum() == after.height - before.height
        assert list(bars(ax).values()) == rows["value"].to_list()


def test_the_furthest_from_zero_are_drawn() -> None:
    """A great fall is not cut off for being the least number."""
    compared = fk.compare(part_a(), part_b())

    rows = drawn_rows(compared.rename({"difference": "value"}), 3).filter(kind="labelled")

    size = pl.col("difference").abs()
    assert set(rows["code"]) == set(
        compared.filter(kind="labelled")
        .sort(size, "code", descending=[True, False])["code"]
        .head(3)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "note"), [("sk", "Bez rozdielu: 25."), *slow(("en", "difference: 25."))]
)
def test_most_codes_without_a_difference_are_a_note(lang: Lang, note: str) -> None:
    """A few of them are bars as all others are, and so is what remains alone."""
    codes = fk.districts()["code"].head(28).to_list()
    before = pl.DataFrame({"okres": codes * 2})
    some, most = (
        fk.compare(before, pl.DataFrame({"okres": codes * 2 + codes[:more]}), "okres", lang=lang)
        for more in (20, 3)
    )
    one = fk.compare(before, pl.DataFrame({"okres": codes * 2 + codes[:1]}), "okres", lang=lang)

    ax = fk.plot_counts(most, "okres", lang=lang, ax=axes())

    assert list(bars(ax).values()) == [1, 1, 1]
    assert note in written(ax)
    for table in (some, one):
        whole = fk.plot_counts(table, "okres", lang=lang, ax=own(28))
        assert len(bars(whole)) == 28
        assert "difference: " not in written(whole)


@pytest.mark.parametrize(("by", "lang"), [("kraj", "sk"), *slow(("okres", "en"))])
def test_a_map_of_differences_has_signs_and_colours(by: Any, lang: Lang) -> None:
    """Tiles carry signed numbers, falls and rises have colours of their own."""
    compared = fk.compare(part_a(), part_b(), by, lang=lang)
    grid = tiles.LEVELS[by]
    by_code = dict(compared.drop_nulls("code").select("code", "difference").rows())

    ax = fk.plot_map(compared, by, lang=lang, ax=axes(*((8, 3.9) if by == "kraj" else (10, 6.4))))

    check_legible(ax)
    assert tile_numbers(ax) == [
        drawing.signed(by_code[code], lang) if code in by_code else "–" for code in grid
    ]
    shown = {
        code: to_hex(patch.get_facecolor()) for code, patch in zip(grid, ax.patches, strict=True)
    }
    legend = ax.get_legend()
    assert legend is not None
    assert {to_hex(handle.get_facecolor()) for handle in legend.get_patches()} == set(
        shown.values()
    )
    rises = {shown[code] for code, number in by_code.items() if code in grid and number > 0}
    falls = {shown[code] for code, number in by_code.items() if code in grid and number < 0}
    assert rises <= set(drawing.BLUES)
    assert falls <= set(drawing.ORANGES)
    word = {"sk": "Rozdiel v počte", "en": "Difference in the number"}[lang]
    assert ax.get_title().startswith(word)
    assert " → " in ax.get_title()
    assert word.lower() in legend.get_title().get_text()


def test_a_share_of_a_comparison_is_a_value_like_any_other() -> None:
    """Only what is asked for as count or difference is the difference."""
    ax = fk.plot_map(fk.compare(part_a(), part_b()), value="share_b", lang="en", ax=axes())

    assert ax.get_title().startswith("share b by region")


def test_a_map_of_own_values_speaks_of_them() -> None:
    """Heading and unit are the reader's, nothing speaks of units of account."""
    rates = pl.DataFrame({"code": ["SK010", "SK021", "SKZZ", None], "count": [-1.5, 2.5, 3.5, 4.5]})

    ax = fk.plot_map(
        rates, title="Nonprofits", unit="per 1,000 inhabitants", lang="en", ax=axes(8, 3.9)
    )

    legend = ax.get_legend()
    assert legend is not None
    check_legible(ax)
    assert ax.get_title() == "Nonprofits"
    assert legend.get_title().get_text() == "per 1,000 inhabitants"
    assert notes(ax) == "Not on the map: Abroad: 3.50; no code: 4.50."
    assert "units" not in written(ax)
    assert [text.get_text() for text in legend.get_texts()] == ["−1.50", "2.50", "no value"]
    fall, rise, _ = (to_hex(handle.get_facecolor()) for handle in legend.get_patches())
    assert fall in drawing.ORANGES
    assert rise in drawing.BLUES


def test_rises_alone_are_rises() -> None:
    """Where nothing falls, a map of differences has the colours of differences all the same."""
    ax = fk.plot_map(fk.compare(all_units().head(0), all_units()), lang="en", ax=axes(8, 3.9))

    legend = ax.get_legend()
    assert legend is not None
    assert {to_hex(handle.get_facecolor()) for handle in legend.get_patches()} <= set(drawing.BLUES)


def test_a_title_of_counts_keeps_their_number() -> None:
    """A heading of one's own does not hide how many units there are, nor whose."""
    ax = fk.plot_map(part_a(), title="Mine", lang="en", ax=axes())

    assert ax.get_title() == f"Mine\n{part_a().height:,} units"


@pytest.mark.slow
def test_maps_side_by_side_have_equal_classes() -> None:
    """With bounds that are given, one legend fits both maps."""
    legends = []
    for units in (part_a(), all_units()):
        ax = fk.plot_map(units, classes=[100, 200.5, 1000], lang="en", ax=axes(8, 3.9))
        check_legible(ax)
        legend = ax.get_legend()
        assert legend is not None
        legends.append(
            [
                (text.get_text(), to_hex(handle.get_facecolor()))
                for text, handle in zip(legend.get_texts(), legend.get_patches(), strict=True)
            ]
        )
        assert legend.get_title().get_text() == "number of units"

    assert legends[0] == legends[1]
    assert [text for text, _ in legends[0]] == ["≤ 100", "100 – 200.5", "200.5 – 1,000", "> 1,000"]


plot_map: Any = fk.plot_map  # wrong on purpose


@pytest.mark.parametrize(
    "classes", [[], [2, 1], [1, 1], [float("nan")], [1, float("inf")], "12", 3, ["x"], range(9)]
)
def test_bounds_that_are_none_are_refused(classes: Any) -> None:
    """What cannot divide values is refused, with what can."""
    with pytest.raises(fk.UsageError, match=r"^classes=.* 1 to 8 ascending numbers"):
        plot_map(all_units(), classes=classes)


def test_comparisons_are_checked() -> None:
    """Numbers that no comparison has are named."""
    compared = fk.compare(part_a(), part_b())
    for wrong, named in (
        (compared.with_columns(count_a=-1), "'count_a' has nulls or negative"),
        (compared.with_columns(difference=None).cast({"difference": pl.Int64}), "'difference' has"),
        (compared.cast({"difference": pl.Float64}), "'difference' is Float64.*fk.compare"),
        (compared.with_columns(kind=pl.lit("x")), "'kind' has"),
    ):
        with pytest.raises(fk.UsageError, match=named):
            fk.plot_counts(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["sk", *slow("en")])
def test_windows_of_last_changes_are_named_below_the_picture(lang: Lang) -> None:
    """Bars and maps of two groups of units have no such note."""
    since = pl.col("datumPoslednejUpravy") >= pl.date(2026, 1, 1)
    with pytest.warns(UserWarning, match="windows of last changes"):
        windows = fk.compare(all_units(), all_units().filter(since), lang=lang)
    plain = fk.compare(part_a(), part_b())
    note = {"sk": "Obe strany sú obdobia poslednej zmeny", "en": "Both sides are windows of last"}

    for draw, size in ((fk.plot_counts, (8, 4.5)), (fk.plot_map, (8, 3.9))):
        ax = draw(windows, lang=lang, ax=axes(*size))
        check_legible(ax)
        assert note[lang] in written(ax).replace("\n", " ")
        assert note[lang] not in written(draw(plain, lang=lang, ax=axes(*size)))


def test_one_difference_is_a_sentence() -> None:
    """A lone bar would say nothing about the size of it."""
    a, b = (pl.DataFrame({"kraj": ["SK010"] * n}) for n in (1_200, 1_205))

    ax = fk.plot_counts(fk.compare(a, b, lang="en"), lang="en", ax=axes())

    drawn(ax)
    assert "Region of Bratislava: 1,200 → 1,205 (+5)" in written(ax).replace("\n", " ")
    assert not ax.patches


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["sk", *slow("en")])
def test_both_sides_of_a_comparison_are_named(lang: Lang) -> None:
    """As given; windows of last changes by their days; others by their order."""
    day = pl.col("datumPoslednejUpravy")
    may = all_units().filter(day.is_between(pl.date(2026, 5, 1), pl.date(2026, 5, 31)))
    june = all_units().filter(day >= pl.date(2026, 6, 1))
    with pytest.warns(UserWarning, match="windows of last changes"):
        months = fk.compare(may, june)
    named = fk.compare(part_a(), part_b(), names=("s. r. o.", "iné"))
    days = {
        "sk": ("1. 5. 2026 – 31. 5. 2026", "1. 6. 2026 – 30. 6. 2026"),
        "en": ("1 May 2026 – 31 May 2026", "1 June 2026 – 30 June 2026"),
    }
    unnamed = {"sk": "druhá strana oproti prvej: ", "en": "the second side against the first: "}
    against = {"sk": "„iné“ oproti „s. r. o.“: ", "en": "“iné” against “s. r. o.”: "}

    for draw, size in ((fk.plot_counts, (8, 4.8)), (fk.plot_map, (8, 3.9))):
        texts = [
            written(draw(table, lang=lang, ax=axes(*size))).replace("\n", " ")
            for table in (months, named, fk.compare(part_a(), part_b()))
        ]
        check_legible(draw(months, lang=lang, ax=axes(*size)))
        first, second = days[lang]
        plain = texts[0].replace("\xa0", " ")
        assert f"{first}: " in plain
        assert f" → {second}: " in plain
        assert "s. r. o.: " in texts[1]
        assert against[lang] in texts[1]
        assert unnamed[lang] in texts[2]
