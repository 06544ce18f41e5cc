"""What all charts share: the axes, the title, what is counted, and the words of both languages."""

from __future__ import annotations

from collections import Counter
from typing import Final

import polars as pl
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from finstat_kit.arguments import By, Lang
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError
from finstat_kit.frames import labels, number_format
from finstat_kit.frames.counts import COUNTS, KINDS
from finstat_kit.protocol import wire

# Sizes are ours and in points, so that nothing overlaps whatever the reader's own style says.
TITLE_SIZE: Final = 11
TEXT_SIZE: Final = 9
LONGEST: Final = 40  # letters of a label
GROWTH: Final = 1.2  # of the axes, at least, when the figure is laid out to its edges
INK: Final = "#222222"
GREY: Final = "#9a9a9a"  # what has no label

WORDS: Final[dict[Lang, dict[str, str]]] = {
    "sk": {
        "kraj": "kraja",
        "okres": "okresu",
        "sidlo": "obce",
        "pravnaForma": "právnej formy",
        "skNace": "činnosti (SK NACE)",
        "druhVlastnictva": "druhu vlastníctva",
        "velkostOrganizacie": "veľkosti organizácie",
        "by": "Účtovné jednotky podľa {by}",
        "rest": "ostatné",
        "unknown code": "neznámy kód",
        "unknown codes": "neznáme kódy",
        "no code": "bez kódu",
        "gone": "zmazané alebo neverejné",
        "nothing": "Nie je čo zobraziť.",
    },
    "en": {
        "kraj": "region",
        "okres": "district",
        "sidlo": "municipality",
        "pravnaForma": "legal form",
        "skNace": "activity (SK NACE)",
        "druhVlastnictva": "type of ownership",
        "velkostOrganizacie": "size of organisation",
        "by": "Accounting units by {by}",
        "rest": "other",
        "unknown code": "unknown code",
        "unknown codes": "unknown codes",
        "no code": "no code",
        "gone": "deleted or non-public",
        "nothing": "Nothing to show.",
    },
}


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, or those of a new figure of so many inches, which a cell shows."""
    if ax is None:
        # Only here: pyplot keeps its figures in a global, which threads of widgets must not touch.
        from matplotlib import pyplot as plt

        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise UsageError(
            f"ax is a {type(ax).__name__}; give the Axes of a figure, or None for a new one"
        )
    return ax


def inches(ax: Axes) -> tuple[float, float]:
    """Return width and height of the axes."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return box.width / dpi, box.height / dpi


def breadth(line: str, size: float) -> float:
    """Return how many inches a line of text is broad."""
    points, _, _ = text_to_path.get_text_width_height_descent(
        line, FontProperties(size=size), ismath=False
    )
    return float(points) / 72


def wrapped(text: str, room: float, size: float) -> list[str]:
    """Break a text at blanks into lines of so many inches."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and breadth(longer := f"{lines[-1]} {word}", size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def literal(text: str) -> str:
    """Return a text that matplotlib draws as it stands: ``$`` begins no formula."""
    return text.replace("$", r"\$")


def shortened(text: str, longest: int = LONGEST) -> str:
    """Cut a text that is too long to stand beside a bar."""
    line = " ".join(text.splitlines())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def names(
    rows: pl.DataFrame, lang: Lang, *, among: pl.DataFrame, longest: int = LONGEST
) -> list[str]:
    """Return what to call each row: its label, with the code where labels repeat among all.

    A column ``codes`` says how many codes a row sums, where it is more than one.
    """
    words = WORDS[lang]
    seen = Counter(shortened(label, longest) for label in among["label"].drop_nulls())
    called = []
    for row in rows.iter_rows(named=True):
        code, kind, codes = str(row["code"]), row["kind"], row.get("codes", 1)
        label = shortened(row["label"] or code, longest)
        if kind == "labelled":
            called.append(f"{label} ({code})" if seen[label] > 1 else label)
        elif kind == "unknown code" and codes == 1:
            called.append(f"{words[kind]} {shortened(code, longest)}")
        elif kind in ("rest", "unknown code"):
            word = words["rest"] if kind == "rest" else words["unknown codes"]
            called.append(f"{word} ({number_format.whole(codes, lang)})")
        else:
            called.append(words[kind])
    return called


def title(
    ax: Axes,
    heading: str,
    lang: Lang,
    register: Register | None,
    units: int | None = None,
    *,
    beside: float = 0,
) -> None:
    """Write what is shown, of how many units, and the source unless it is the live register.

    Args:
        ax: Where.
        heading: What is shown.
        lang: Language of the rest.
        register: The source; None where the numbers were given and no register is chosen.
        units: How many are shown; None where that is not known.
        beside: Inches that labels to the left of the axes take.
    """
    facts = [] if units is None else [number_format.units(units, lang)]
    if register is not None and not register._is_live:
        facts.append(register._source_name(lang))
    room = inches(ax)[0] * GROWTH - beside
    line = ", ".join(facts)
    lines = wrapped(heading, room, TITLE_SIZE)
    lines += [line] if breadth(line, TITLE_SIZE) <= room else facts
    ax.set_title(
        literal("\n".join(filter(None, lines))),
        x=0, ha="left", fontsize=TITLE_SIZE, color=INK, linespacing=1.4, pad=10,
    )  # fmt: skip


def nothing(ax: Axes, lang: Lang) -> None:
    """Say that there is nothing to draw."""
    ax.text(
        0.5, 0.5, WORDS[lang]["nothing"], transform=ax.transAxes, ha="center", va="center",
        fontsize=TEXT_SIZE, color=INK,
    )  # fmt: skip
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def counts(frame: labels.Frame, by: By, lang: Lang, register: Register | None) -> pl.DataFrame:
    """Return the counts behind a picture: those given, or those of the units given."""
    schema = labels.schema_of(frame)
    if not set(COUNTS) <= set(schema):
        return (register or current.register()).count_by(frame, by, lang=lang)
    if by not in wire.BY_FIELD:
        raise UsageError(f"by={by!r} is no code column; give one of {list(wire.BY_FIELD)}")
    table = frame.lazy().select(COUNTS.names()).collect()
    _check_counts(table)
    return table


def _check_counts(table: pl.DataFrame) -> None:
    for column, dtype in COUNTS.items():
        found = table.schema[column]
        fits = found.is_integer() if column == "count" else found in (dtype, pl.Null)
        if not fits:
            raise UsageError(f"the column {column!r} is {found}; give counts as fk.count_by does")
    if table["count"].null_count() or (table["count"] < 0).any():
        raise UsageError("the column 'count' has nulls or negative numbers; give whole counts")
    kinds = set(table["kind"]) - set(KINDS)
    if kinds:
        raise UsageError(f"the column 'kind' says {kinds}; give some of {list(KINDS)}")
