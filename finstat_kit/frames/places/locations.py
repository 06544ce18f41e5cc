"""All places in one frame, and their search: pure functions over codelist frames."""

from __future__ import annotations

from typing import Final, Literal

import polars as pl

from finstat_kit import arguments
from finstat_kit.frames.places.labels import label_of
from finstat_kit.frames.text.slovak import folded, sort_key

Level = Literal["region", "district", "municipality"]
LEVELS: Final = ("region", "district", "municipality")
LOCATIONS: Final = pl.Schema(
    dict.fromkeys((
        "level", "code", "name_sk", "name_en", "district", "region", "parent_code",
        "district_code", "region_code",
    ), pl.String())
)  # fmt: skip


def locations(
    regions: pl.DataFrame, districts: pl.DataFrame, municipalities: pl.DataFrame
) -> pl.DataFrame:
    """Concatenate the three levels, with the codes above each; see `Register.locations`."""
    levels = zip(LEVELS, (regions, districts, municipalities), strict=True)
    places = pl.concat(frame.with_columns(level=pl.lit(level)) for level, frame in levels)
    level, code, parent = pl.col("level"), pl.col("code"), pl.col("parent_code")
    district = pl.when(level == "district").then(code).when(level == "municipality").then(parent)
    places = places.with_columns(district_code=_among(district, districts))
    above = _of(pl.col("district_code"), districts, "parent_code")
    region = pl.when(level == "region").then(code).otherwise(above)
    places = places.with_columns(region_code=_among(region, regions))
    return places.with_columns(
        district=_of(pl.col("district_code"), districts, "name_sk"),
        region=_of(pl.col("region_code"), regions, "name_sk"),
    ).select(LOCATIONS.names())


def _among(code: pl.Expr, entries: pl.DataFrame) -> pl.Expr:
    return pl.when(code.is_in(entries["code"].implode())).then(code)


def _of(code: pl.Expr, entries: pl.DataFrame, column: str) -> pl.Expr:
    return label_of(code, pl.String(), entries["code"], entries[column])


def search(places: pl.DataFrame, text: str | None, level: str | None = None) -> pl.DataFrame:
    """Search the frame of `locations`; see `Register.locations`."""
    if level is not None:
        arguments.one_of("level", level, LEVELS)
        places = places.filter(level=level)
    if text is None:
        return places
    text = arguments.sought("text", text, "part of a name or of a code")
    sought = pl.select(folded(pl.lit(text.strip()))).item()
    names = [folded(pl.col(name)).fill_null("") for name in ("name_sk", "name_en")]
    begun = pl.col("code").str.to_lowercase().str.starts_with(sought)
    begun |= pl.any_horizontal(name.str.starts_with(sought) for name in names)
    words = [pl.lit(" ") + name.str.replace_all("-", " ", literal=True) for name in names]
    of_word = pl.any_horizontal(word.str.contains(f" {sought}", literal=True) for word in words)
    within = pl.any_horizontal(name.str.contains(sought, literal=True) for name in names)
    rank = pl.when(begun).then(0).when(of_word).then(1).when(within).then(2)
    found = places.with_columns(rank.alias("rank")).drop_nulls("rank")
    by_level = pl.col("level").cast(pl.Enum(LEVELS))
    alphabet = sorted(found["name_sk"].drop_nulls().unique(), key=sort_key)
    by_name = pl.col("name_sk").cast(pl.Enum(alphabet))
    return found.sort("rank", by_level, by_name, "code").select(LOCATIONS.names())
