"""Draw the pictures that the README shows: ``python notebooks/pictures.py [folder]``.

Each chart of the sample in both languages, small enough for a repository; the same bytes each
time on one machine.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import finstat_kit as fk
from finstat_kit.arguments import Lang

FOLDER: Final = Path(__file__).parent / "pictures"
LANGS: Final[tuple[Lang, ...]] = ("sk", "en")


def axes(width: float, height: float) -> Axes:
    """Return axes of a figure of so many inches."""
    return Figure((width, height), layout="constrained").subplots()


def charts(units: pl.DataFrame, lang: Lang) -> dict[str, Axes]:
    """Return each chart by the name of its picture."""
    return {
        "counts": fk.plot_counts(units, lang=lang, ax=axes(8, 4.8)),
        "map_regions": fk.plot_map(units, lang=lang, ax=axes(8, 3.9)),
        "map_districts": fk.plot_map(units, "okres", lang=lang, ax=axes(10, 6.4)),
        "last_changes": fk.plot_last_changes(units, lang=lang, ax=axes(9, 4.8)),
    }


def save(ax: Axes, path: Path) -> None:
    """Write a picture of few colours, which does not say by which version it was drawn."""
    figure = ax.figure
    assert isinstance(figure, Figure)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110, metadata={"Software": None})
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)


def main() -> None:
    """Draw all of them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(exist_ok=True)
    with fk.using(fk.sample()):
        units = fk.units.get(fk.units.ids())
        for lang in LANGS:
            for name, ax in charts(units, lang).items():
                save(ax, folder / f"{name}_{lang}.png")


if __name__ == "__main__":
    main()
