"""Search results of places, with all names in one language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from finstat_kit.arguments import Lang
    from finstat_kit.client.register import Register
    from finstat_kit.frames.places.locations import Level


def found(reg: Register, text: str, level: Level | None, lang: Lang | None) -> pl.DataFrame:
    """Return the places of `Register.locations` with one name each, and the names above them.

    Returns:
        ``level``, ``code``, ``name``, ``district``, ``region``; all String. A place without a name
        in the language has the other one.
    """
    lang = reg._language(lang)
    other = "en" if lang == "sk" else "sk"
    name = pl.coalesce(f"name_{lang}", f"name_{other}").alias("name")
    names = reg.locations().select("code", name).unique("code", keep="first", maintain_order=True)
    places = reg.locations(text, level=level).drop("district", "region").with_columns(name)
    for part in ("district", "region"):
        above = names.rename({"code": f"{part}_code", "name": part})
        places = places.join(above, on=f"{part}_code", how="left", maintain_order="left")
    return places.select("level", "code", "name", "district", "region")
