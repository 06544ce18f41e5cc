"""All places in one frame, and their search: pure functions over codelist frames."""

from __future__ import annotations

from typing import Final, Literal

import polars as pl

from finstat_kit import arguments
from finstat_kit.frames.text.slovak import folded, sort_key

Level = Literal["region", "district", "municipality"]
LEVELS: Final = ("region", "district", "municipality")
LOCATIONS: Final = pl.Schema(
    dict.fromkeys(
        (
            "level",
            "code",
            "name_sk",
            "name_en",
            "district",
            "region",
            "parent_code",
            "district_code",
            "region_code",
        ),
        pl.String(),
    )
)


def locations(
    regions: pl.DataFrame, districts: pl.DataFrame, municipalities: pl.DataFrame
) -> pl.DataFrame:
    """Concatenate the three levels, with the codes above each; see `Register.locations`."""
    region_of = districts.select(
        pl.col("code").alias("district_code"), pl.col("parent_code").alias("region_code")
    ).filter(pl.col("region_code").is_in(regions["code"].implode()))
    known_parent = pl.col("parent_code").is_in(districts["code"].implode())
    levels = (
        regions.with_columns(
            pl.lit(None, pl.String).alias("district_code"), pl.col("code").alias("region_code")
        ),
        districts.with_columns(pl.col("code").alias("district_code")),
        municipalities.with_columns(
            pl.when(known_parent).then("parent_code").alias("district_code")
        ),
    )
    parts = []
    for level, frame in zip(LEVELS, levels, strict=True):
        if "region_code" not in frame.columns:
            frame = frame.join(region_of, on="district_code", how="left", maintain_order="left")
        parts.append(frame.with_columns(pl.lit(level).alias("level")))
    places = pl.concat(parts, how="diagonal")
    for level in ("district", "region"):
        names = places.select(pl.col("code").alias(f"{level}_code"), pl.col("name_sk").alias(level))
        names = names.unique(f"{level}_code", keep="first", maintain_order=True)
        places = places.join(names, on=f"{level}_code", how="left", maintain_order="left")
    return places.select(LOCATIONS.names())


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
