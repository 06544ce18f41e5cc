"""All places in one frame, and their search: pure functions over codelist frames."""

from __future__ import annotations

import unicodedata
from typing import Final, Literal

import polars as pl

from finstat_kit import arguments
from finstat_kit.errors import UsageError

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
    if not isinstance(text, str) or not text.strip():
        raise UsageError(
            "is not allowed", argument="text", value=text, cure="give part of a name or of a code"
        )
    sought = folded(text.strip())
    rank = [
        _rank(sought, code, name_sk or "", name_en or "")
        for code, name_sk, name_en in places.select("code", "name_sk", "name_en").iter_rows()
    ]
    order = pl.col("level").cast(pl.Enum(LEVELS))
    return (
        places.with_columns(pl.Series("rank", rank, dtype=pl.Int8))
        .drop_nulls("rank")
        .sort("rank", order, "name_sk", "code")
        .select(LOCATIONS.names())
    )


def folded(text: str) -> str:
    """Return a text without accents and case, to compare by.

    >>> folded("Žiar nad Hronom")
    'ziar nad hronom'
    """
    apart = unicodedata.normalize("NFKD", text)
    return "".join(c for c in apart if not unicodedata.combining(c)).casefold()


def _rank(sought: str, code: str, *names: str) -> int | None:
    """Return 0 if a name or code starts with the text, 1 if a word does, 2 for any other match."""
    texts = [folded(name) for name in names]
    if code.casefold().startswith(sought) or any(text.startswith(sought) for text in texts):
        return 0
    if any(word.startswith(sought) for text in texts for word in text.replace("-", " ").split()):
        return 1
    return 2 if any(sought in text for text in texts) else None
