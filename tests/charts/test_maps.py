"""Tile maps: every place has a tile, every tile its number."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import tiles
from tests.support.examples import slow
from tests.support.pictures import (
    axes,
    check_legible,
    notes,
    texts,
    tile_numbers,
)
from tests.support.units import all_units

LANGS: list[Lang] = ["sk", "en"]


def test_own_numbers_need_no_register() -> None:
    """A map of one's own numbers is drawn without any; codes without a tile are named by code."""
    fk.use(None)
    rates = pl.DataFrame({"code": ["SK010", "SK042", "SKZZZ", None], "rate": [1.5, 2.5, 3.5, 4.5]})

    ax = fk.plot_map(rates, value="rate", lang="en", ax=axes())

    assert ax.get_title() == "rate by region"
    assert "SKZZZ: 3.50" in " ".join(text.get_text() for text in texts(ax))
    assert "no code: 4.50" in " ".join(text.get_text() for text in texts(ax))


def test_every_district_has_a_tile() -> None:
    """The grid holds the codelist, each code once, at a place of its own."""
    regions, districts = fk.regions()["code"], fk.districts()["code"]

    assert set(tiles.DISTRICTS) == set(districts)
    assert len(tiles.DISTRICTS) == 79
    assert set(tiles.REGIONS) == {code for code in regions if not code.startswith("SKZ")}
    for grid in (tiles.DISTRICTS, tiles.REGIONS):
        assert len({(tile.column, tile.row) for tile in grid.values()}) == len(grid)
        assert len({tiles.NAMES["sk"][code] for code in grid}) == len(grid)
        assert min(tile.column for tile in grid.values()) == 0
        assert min(tile.row for tile in grid.values()) == 0


def test_regions_are_in_one_piece() -> None:
    """From any district one comes to all of its region over edges of tiles."""
    place = {(tile.column, tile.row): code for code, tile in tiles.DISTRICTS.items()}
    for region in tiles.REGIONS:
        own_tiles = {at for at, code in place.items() if code.startswith(region)}
        reached: set[tuple[int, int]] = set()
        waiting = deque([min(own_tiles)])
        while waiting:
            x, y = waiting.popleft()
            if (x, y) in own_tiles - reached:
                reached.add((x, y))
                waiting += [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        assert reached == own_tiles, region


def test_tiles_lie_as_the_districts_do() -> None:
    """West of, north of, and neighbours, for pairs that everybody in Slovakia knows."""
    names = tiles.NAMES["sk"]
    at = {names[code].replace("\n", " "): tile for code, tile in tiles.DISTRICTS.items()}
    chain = ["Bratislava I", "Nitra", "Zvolen", "Rimavská Sobota", "Košice I", "Trebišov"]
    columns = [at[name].column for name in chain]
    north = [at[name].row for name in ("Čadca", "Žilina", "Martin", "Zvolen", "Veľký Krtíš")]

    assert columns == sorted(set(columns))
    assert north == sorted(set(north))
    assert at["Komárno"].row == max(tile.row for tile in tiles.DISTRICTS.values())
    for one, other in (
        ("Bratislava I", "Bratislava V"),
        ("Bratislava III", "Pezinok"),
        ("Trnava", "Galanta"),
        ("Trenčín", "Ilava"),
        ("Nitra", "Zlaté Moravce"),
        ("Žilina", "Martin"),
        ("Banská Bystrica", "Brezno"),
        ("Liptovský Mikuláš", "Poprad"),
        ("Prešov", "Sabinov"),
        ("Košice I", "Košice – okolie"),
        ("Michalovce", "Trebišov"),
        ("Humenné", "Snina"),
    ):
        apart = max(abs(at[one].column - at[other].column), abs(at[one].row - at[other].row))
        assert apart == 1, (one, other)


@pytest.mark.parametrize(
    ("by", "size", "lang", "scale"),
    [
        ("okres", (10, 6.4), "en", 0.7),
        *slow(("kraj", (8, 3.9), "sk", 1.5)),
    ],
)
def test_maps_are_legible(by: Any, size: tuple[float, float], lang: Lang, scale: float) -> None:
    """Names and numbers stay inside their tiles in a picture of any size."""
    ax = fk.plot_map(all_units(), by=by, lang=lang, ax=axes(size[0] * scale, size[1] * scale))

    renderer = check_legible(ax)
    cells = [patch.get_window_extent(renderer) for patch in ax.patches]
    assert len(ax.texts) == len(cells)
    for text in ax.texts:
        box = text.get_window_extent(renderer)
        assert any(
            cell.x0 <= box.x0 and box.x1 <= cell.x1 and cell.y0 <= box.y0 and box.y1 <= cell.y1
            for cell in cells
        ), text.get_text()


@pytest.mark.parametrize("by", ["kraj", *slow("okres")])
def test_tiles_are_the_counts(by: Any) -> None:
    """Each tile carries its count; what has none is told below; together they are all units."""
    counts = fk.count_by(all_units(), by, lang="en")
    count_of = dict(counts.filter(pl.col("kind") == "labelled").select("code", "count").rows())
    grid = tiles.REGIONS if by == "kraj" else tiles.DISTRICTS

    ax = fk.plot_map(all_units(), by=by, lang="en", ax=axes())

    assert tile_numbers(ax) == [f"{count_of[code]:,}" if code in count_of else "–" for code in grid]
    below = notes(ax)
    told = [int(part.split(": ")[1].replace(",", "")) for part in below[16:-1].split("; ")]
    assert below.startswith("Not on the map: ")
    assert sum(told) + sum(count_of.get(code, 0) for code in grid) == all_units().height
    assert f"deleted or non-public: {all_units()['stav'].count()}" in below
    assert by == "okres" or "Abroad (SKZZ): " in below


def test_legend_gives_the_bounds() -> None:
    """Every class has its colour, its least and greatest value, and its tiles."""
    table = pl.DataFrame({"code": list(tiles.REGIONS)[:7], "rate": [1.0, 2, 3.5, 4, 5, 6.25, 7]})

    ax = fk.plot_map(table, value="rate", ax=axes(8, 3.9))

    legend = ax.get_legend()
    assert legend is not None
    entries = [text.get_text() for text in legend.get_texts()]
    assert entries == [
        "1,00 – 2,00",
        "3,50 – 4,00",
        "5,00 (Trnavský)",
        "6,25 – 7,00",
        "bez hodnoty",
    ]
    colours = [to_hex(handle.get_facecolor()) for handle in legend.get_patches()]
    tile_colours = Counter(to_hex(patch.get_facecolor()) for patch in ax.patches)
    assert [tile_colours[colour] for colour in colours] == [2, 2, 1, 2, 1]
    assert legend.get_title().get_text() == "rate, triedy podľa prirodzených hraníc"
    assert tile_numbers(ax)[-1] == "–"
    assert ax.get_title() == "rate podľa kraja"


@pytest.mark.parametrize(
    ("values", "entries", "tile"),
    [
        ([1_211_000, 1_234_000, 1_239_000], ["€1.21m", "€1.23m", "€1.24m"], "€1.21m"),
        ([12_120, 12_130, -5], ["−€5.00", "€12.12k", "€12.13k"], "€12.12k"),
    ],
)
def test_values_of_two_classes_are_not_written_alike(
    values: list[int], entries: list[str], tile: str
) -> None:
    """Those that are close have more decimals, in the legend and on the tiles."""
    codes = list(tiles.REGIONS)[: len(values)]
    frame = pl.DataFrame({"kraj": codes, "sales": values}).select(pl.all().repeat_by(5).explode())
    frame = frame.with_columns(unit_id=pl.int_range(pl.len()))

    ax = fk.plot_map(frame, value="sales", lang="en", ax=axes(8, 3.9))

    legend = ax.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[: len(entries)] == entries
    assert tile in tile_numbers(ax)
    check_legible(ax)


def test_values_that_are_no_numbers_are_missing() -> None:
    """Null, NaN and infinite are no values; all values equal are one class."""
    codes = list(tiles.REGIONS)[:5]
    table = pl.DataFrame({"code": codes, "x": [None, float("nan"), float("inf"), 2.0, 2.0]})

    ax = fk.plot_map(table, value="x", lang="en", ax=axes())

    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["2", "no value"]
    assert tile_numbers(ax) == ["–", "–", "–", "2", "2", "–", "–", "–"] or Counter(
        tile_numbers(ax)
    ) == Counter({"–": 6, "2": 2})


@pytest.mark.parametrize("name", ["^x$", *slow("*", "^y$")])
def test_values_and_codes_of_any_name_and_kind_are_drawn(name: str) -> None:
    """A column of any name is drawn, and codes of any kind of categories."""
    plain = pl.DataFrame({"code": ["SK010", "SK021"], "x": [1.5, 2.5]})
    odd = plain.select(
        pl.col("code").cast(pl.Categorical(pl.Categories("codes of a map"))),
        pl.lit(7).alias("y"),
        pl.col("x").alias(name),
    )

    for frame in (odd, odd.lazy()):
        ax = fk.plot_map(frame, value=name, lang="en", ax=axes())
        assert tile_numbers(ax) == tile_numbers(fk.plot_map(plain, value="x", lang="en", ax=axes()))


def test_values_without_a_tile_are_told() -> None:
    """Codes from abroad, unknown ones and none stand under the map, whatever the value is."""
    table = pl.DataFrame({"code": ["SK010", "SKZZ", "x1", "x2", None], "x": [1.5, 2.5, 3, 4, 5.5]})

    ax = fk.plot_map(table, value="x", lang="en", ax=axes())

    assert notes(ax) == ("Not on the map: Abroad: 2.50; unknown codes (2); no code: 5.50.")


def test_maps_of_counts_speak_one_language() -> None:
    """What has no tile is named in the language asked for; a kind of one's own means nothing."""
    counts = fk.count_by(all_units(), "kraj", lang="sk")
    own_kind = counts.with_columns(kind=pl.lit("mine"))

    below = fk.plot_map(counts, lang="en", ax=axes()).get_xlabel()
    mine = fk.plot_map(own_kind.drop_nulls("code"), lang="en", ax=axes()).get_xlabel()

    assert "Abroad (SKZZ): " in below
    assert "Zahraničie" not in below
    assert "unknown codes (" in mine


def summary_of(**values: list[float | None]) -> pl.DataFrame:
    """Return the summary of a column ``x`` by regions; those of ``none`` are of no region."""
    rows = [(code, x) for code, numbers in values.items() for x in numbers]
    codes = [None if code == "none" else code for code, _ in rows]
    columns = {"unit_id": range(len(rows)), "kraj": codes, "x": [x for _, x in rows]}
    return fk.summary(pl.DataFrame(columns).with_columns(year=2024), "x", by="kraj")


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.slow
def test_a_tile_without_a_statistic_says_why() -> None:
    """Too few units, another cause such as a sum of zero, or both; counts are of any number."""
    enough: list[float | None] = [1.0, 2, 3, 4, 5]
    regions = dict.fromkeys(tiles.REGIONS, enough)
    sum_of_zero = summary_of(**regions | {"SK021": [1.0, -1, 0, 0, 0]})
    several = summary_of(**regions | {"SK021": [1.0, -1, 0, 0, 0], "SK022": [1.0, 2]})
    counted = several.with_columns(
        n_excluded=pl.when(pl.col("kraj") != "SK022").then(pl.lit(1, pl.Int64))
    )

    drawn = {
        "missing": fk.plot_map(sum_of_zero, statistic="share_top5", lang="en", ax=axes()),
        "both": fk.plot_map(several, statistic="share_top5", lang="en", ax=axes()),
        "few": fk.plot_map(several, lang="en", ax=axes()),
        "counts": fk.plot_map(counted, statistic="n_excluded", lang="en", ax=axes()),
    }

    assert {name: legend_of(ax)[-1] for name, ax in drawn.items()} == {
        "missing": "no value",
        "both": "fewer than 5 units with a value / no value",
        "few": "fewer than 5 units with a value",
        "counts": "no value",
    }


def test_exactly_five_units_are_not_too_few() -> None:
    """They are enough, and a sum of zero has no shares; four are too few."""
    enough: list[float | None] = [1.0, 2, 3, 4, 5]
    legends = []
    for of_one in ([1.0, -1, 0, 0, 0], [1.0, -1, 0, 0]):
        summary = summary_of(**dict.fromkeys(tiles.REGIONS, enough) | {"SK021": [*of_one]})
        ax = fk.plot_map(summary, statistic="share_top5", lang="en", ax=axes())
        legends.append(legend_of(ax))

    assert [legend[-1] for legend in legends] == ["no value", "fewer than 5 units with a value"]


def test_groups_without_a_value_have_no_bar() -> None:
    """A bar of nothing would stand for units that are not there."""
    summary = summary_of(SK010=[1.0, 2], SK021=[None, None], SK022=[3.0])

    ax = fk.plot_counts(summary, lang="en", ax=axes())

    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == len(ax.patches) == 2
    assert not any("Trnava" in name for name in names)


@pytest.mark.slow
def test_values_of_units_without_a_tile_are_not_lost() -> None:
    """Of few units there is no median, but how many there are; a number of units is itself."""
    absent: list[float | None] = [7.0, None, None]
    zeros: list[float | None] = [0.0, 0, 0, 0, 0, None, None]
    summary = summary_of(SK010=[1.0, 2, 3, 4, 5], SKZZ=absent, SKX=zeros, none=absent)

    medians = fk.plot_map(summary, lang="en", ax=axes()).get_xlabel().replace("\n", " ")
    without = fk.plot_map(summary, statistic="without", lang="en", ax=axes()).get_xlabel()

    assert "Abroad: 1 unit; unknown: 6 units." in medians
    assert "Abroad: 2; unknown: 4." in without.replace("\n", " ")


@pytest.mark.slow
def test_bounds_give_equal_colours_to_maps_of_any_values() -> None:
    """A negative value is in the lowest class, and does not change the others."""
    maps = [
        fk.plot_map(
            pl.DataFrame({"code": list(tiles.REGIONS), "x": [low, 1.0, 3, 5, 5, 5, 5, 5]}),
            value="x", classes=[2, 4], lang="en", ax=axes(),
        )
        for low in (1.0, -1.0)
    ]  # fmt: skip

    one, other = ([to_hex(patch.get_facecolor()) for patch in ax.patches] for ax in maps)
    assert one == other
    assert legend_of(maps[0]) == legend_of(maps[1]) == ["≤ 2", "2 – 4", "> 4"]


@pytest.mark.parametrize("huge", [1e300, -1.7e308])
def test_numbers_that_no_axis_can_hold_are_missing(huge: float) -> None:
    """Their squares, and the ends of an axis beyond them, would be infinite."""
    table = pl.DataFrame({"code": ["SK010", "SK021", "SK022"], "x": [1.0, 2.0, huge]})

    ax = fk.plot_map(table, value="x", lang="en", ax=axes())

    assert legend_of(ax) == ["1", "2", "no value"]


@pytest.mark.parametrize(("by", "lang"), [("kraj", "en"), *slow(("okres", "sk"))])
def test_names_are_read_at_the_width_of_a_column(by: Any, lang: Lang) -> None:
    """The short ones, where the names have no room; all are different. Numbers are left out."""
    with plt.rc_context({"font.size": 7 if by == "kraj" else 8}):
        ax = fk.plot_map(all_units(), by=by, lang=lang, ax=axes(3.54, 3.2))

        check_legible(ax)
    names = [text.get_text().split("\n")[0] for text in ax.texts]
    assert len(set(names)) == len(tiles.LEVELS[by])
    assert ("\n" in ax.texts[0].get_text()) == (by == "kraj")


def test_a_class_of_one_place_has_its_name() -> None:
    """Its value alone would read like the end of a class; bounds of the caller's are as given."""
    rates = pl.DataFrame({"code": ["SK010", "SK021", "SK023", "SK022"], "rate": [1.0] * 3 + [90.0]})
    for classes, last in ((None, "90 (Trenčín)"), ([2.0], "> 2")):
        ax = fk.plot_map(rates, value="rate", classes=classes, lang="en", ax=axes(8, 3.9))

        legend = ax.get_legend()
        assert legend is not None
        assert last in [text.get_text() for text in legend.get_texts()]


@pytest.mark.slow
def test_a_map_of_few_districts_offers_regions() -> None:
    """Where most tiles are grey; not of all."""
    few = pl.DataFrame({"code": ["SK0101", "SK0102", "SK0103"], "rate": [1.0, 2, 3]})
    whole = pl.DataFrame({"code": list(tiles.DISTRICTS), "rate": [*range(79)]})
    for frame, is_few in ((few, True), (whole, False)):
        ax = fk.plot_map(frame, by="okres", value="rate", lang="en", ax=axes(10, 6.4))

        assert ("3 of 79 districts have a value; a map by region" in notes(ax)) == is_few


def test_growth_is_in_words_and_per_cent() -> None:
    """That of `growth`, and a column of one's own, whose words stay."""
    own = pl.DataFrame({"code": ["SK010"], "Export_growth": [0.04]})
    of_growth = own.rename({"Export_growth": "sales_growth"})

    one, other = (
        fk.plot_map(frame, value=frame.columns[1], lang="en", ax=axes(8, 3.9))
        for frame in (own, of_growth)
    )

    assert one.get_title() == "Export growth by region"
    assert other.get_title() == "Sales: growth by region"
    assert "4.0%" in tile_numbers(one)
