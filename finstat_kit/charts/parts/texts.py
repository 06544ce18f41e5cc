"""The texts around a chart: title, legend, notes and source, or a sentence instead of a chart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.charts.parts.drawing import GROWTH, TEXT_SIZE, TITLE_SIZE, breadth, wrapped
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.frames.text import number_format

_LEGEND_HANDLE: Final = 0.5  # inches of an entry besides its text
_TEXT_LINE: Final = 0.2  # inches of a line of the title, of a note, of the labels of the axis
_LEGEND_GAP: Final = 7  # points between the axes and the legend
_LEGEND_END: Final = 10  # points below it
_COLUMN: Final = 4.5  # inches; in narrower axes, as of a column in print, titles are smaller
_LESS: Final = 2  # points of texts in a column
_DETAILS: Final = re.compile(r" \([^()]*\)")  # of a note, that have no room below a chart


class Captions(NamedTuple):
    """The language of a chart, its source, and the caller's texts.

    Attributes:
        lang: Language of all texts.
        source: None if the caller gave the numbers and no register is chosen.
        title: Replaces the heading; the line below it, the units, stays.
        note: Written below all other notes.

    All notes are in ``notes`` of the axes; below the chart is a line of them, and the source.
    """

    lang: Lang
    source: Register | None
    title: str | None
    note: str | None

    def write_title(
        self,
        ax: Axes,
        heading: str,
        units: int | str | None = None,
        *,
        beside: float = 0,
        pad: float = 10,
    ) -> None:
        """Write the title: heading and number of units.

        Args:
            ax: The axes.
            heading: The first line.
            units: Number of units shown, or a text; None if unknown.
            beside: Inches taken by labels to the left of the axes.
            pad: Points between title and axes.
        """
        if isinstance(units, int):
            units = number_format.units(units, self.lang)
        room = _room(ax, beside)
        texts = [heading if self.title is None else self.title, *([units] if units else [])]
        size = largest = size_in(ax, TITLE_SIZE)
        while size > largest - _LESS and any(len(_lines(text, room, size)) > 1 for text in texts):
            size -= 0.5
        if len(_lines(texts[0], room, size)) > 1:
            size = largest  # it has two lines in any case
        lines = [line for text in texts for line in _lines(text, room, size)]
        ax.set_title(
            drawing.literal("\n".join(lines)),
            x=0, ha="left", fontsize=size, linespacing=1.4, pad=pad,
        )  # fmt: skip

    def replaced(self, heading: str) -> list[str]:
        """Return a heading as a note, if the caller's title replaces it."""
        return [] if self.title is None else [f"{heading}."]

    def write_notes(
        self,
        ax: Axes,
        *notes: str,
        key: str = "",
        beside: float = 0,
        pad: float = 4,
        most: float = float("inf"),
        lines: int = 1,
    ) -> None:
        """Write how a chart is read, its notes as far as they fit, the caller's, and the source.

        Args:
            ax: The axes.
            *notes: Most important first, which is always written; those without text are left out.
            key: What numbers are, a line by itself.
            beside: Inches taken by labels to the left of the axes.
            pad: Points between the axes or their labels and the notes.
            most: Inches of a line, at most.
            lines: Of the notes, at most, of more than one; in a column of print two.
        """
        room = min(max(_room(ax, beside), 2), most)
        present = [note for note in notes if note]
        lines = max(lines, 2 if room < _COLUMN else 1)
        size = size_in(ax)
        parts = [key, *self._fitting(present, room, size, lines)]
        parts += [] if self.note is None else [self.note]
        if self.source is not None:
            source = self.source._source_name(self.lang)
            parts.append(drawing.WORDS[self.lang]["source"].format(source=source))
        written = [line for text in parts for line in _lines(text, room, size)]
        ax.set_xlabel(
            drawing.literal("\n".join(written)),
            x=0, ha="left", fontsize=size, linespacing=1.4, labelpad=pad,
        )  # fmt: skip
        # An attribute of its own: whoever saves the chart finds there what had no room.
        vars(ax)["notes"] = [text for text in (key, *present, self.note) if text]

    def _fitting(self, notes: Sequence[str], room: float, size: float, lines: int) -> list[str]:
        """Return the first note and those after it that fit, and how many others there are."""
        short = [_DETAILS.sub("", note) for note in notes]
        if notes and len(_lines(notes[0], room, size)) <= lines + 1:
            short[0] = notes[0]
        texts = []
        for number in range(1, len(notes) + 1):
            more = drawing.WORDS[self.lang]["further"].format(n=len(notes) - number)
            text = " ".join([*short[:number], *([more] if number < len(notes) else [])])
            height = len(_lines(text, room, size))
            lines = max(lines, height) if number == 1 else lines
            texts += [text] if height <= lines else []
        return texts[-1:]

    def write_sentence(self, ax: Axes, text: str) -> None:
        """Write a sentence instead of a chart, and the caller's note."""
        lines = wrapped(" ".join(text.split()), max(drawing.inches(ax)[0] - 0.4, 1), TITLE_SIZE)
        ax.text(
            0.5, 0.5, drawing.literal("\n".join(lines)), transform=ax.transAxes, ha="center",
            va="center", fontsize=TITLE_SIZE, color=drawing.ink(ax), linespacing=1.4,
        )  # fmt: skip
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        self.write_notes(ax)

    def write_nothing(self, ax: Axes, *why: str) -> None:
        """Write that there is nothing to show, and why."""
        self.write_sentence(ax, " ".join([drawing.WORDS[self.lang]["nothing"], *why]))
        vars(ax)["notes"] = [text for text in (*why, self.note) if text]


def captions(
    register: Register | str | None, lang: Lang | None, title: str | None, note: str | None
) -> Captions:
    """Return the texts for the arguments of a chart.

    Raises:
        UsageError: The title or the note is not a text.
    """
    for name, text in (("title", title), ("note", note)):
        if text is not None:
            arguments.text(name, text)
    source, lang = current.drawn_from(register, lang)
    return Captions(lang, source, title, note)


def _room(ax: Axes, beside: float) -> float:
    return drawing.inches(ax)[0] * GROWTH - beside


def size_in(ax: Axes, size: float = TEXT_SIZE) -> float:
    """Return the size of a text in or around axes, which is smaller in a column of print."""
    return size - (_LESS if drawing.inches(ax)[0] < _COLUMN else 0)


def height_left(ax: Axes, *, beside_notes: bool = False, ticks: bool = True) -> float:
    """Return the inches that the title and, unless *beside_notes*, the axis and the notes leave.

    Title and notes must be written before.
    """
    lines = ax.get_title().count("\n") + 1
    if not beside_notes:
        lines += ticks + ax.get_xlabel().count("\n") + 1
    return drawing.inches(ax)[1] * GROWTH - _TEXT_LINE * lines


def _lines(text: str, room: float, size: float) -> list[str]:
    """Break a text at the ends of its lines, and where the room ends."""
    return [part for line in text.splitlines() for part in wrapped(line, room, size)]


def legend_below(
    ax: Axes,
    entries: Sequence[tuple[str, str]],
    heading: str = "",
    *,
    beside: float = 0,
    ticks: float = 0,
    marked: bool = False,
) -> float:
    """Draw a legend below the axes, and return the points that notes leave free for it.

    Args:
        ax: The axes.
        entries: Colour and text of each entry.
        heading: The line above the entries.
        beside: Inches taken by labels to the left of the axes.
        ticks: Points taken by the labels of the axis.
        marked: Whether the last entry is that of a diamond.
    """
    room, size = _room(ax, beside), size_in(ax)
    entries = [(colour, drawing.fitted(text, room - _LEGEND_HANDLE, size))
               for colour, text in entries]  # fmt: skip
    breadths = [breadth(text, size) + _LEGEND_HANDLE for _, text in entries]
    columns = len(entries)
    if sum(breadths) > room:
        rows = -(-columns // max(int(room / max(breadths)), 1))
        columns = -(-columns // rows)  # fill the rows equally
    lines = wrapped(heading, room, size) if heading else []
    down = ScaledTranslation(0, -(_LEGEND_GAP + ticks) / 72, ax.figure.dpi_scale_trans)
    handles: list[Artist] = [Patch(facecolor=colour) for colour, _ in entries]
    if marked:
        handles[-1] = Line2D([], [], color=entries[-1][0], marker="D", linestyle="", markersize=7)
    legend = ax.legend(
        handles,
        [drawing.literal(text) for _, text in entries],
        title=drawing.literal("\n".join(lines)) or None, title_fontsize=size, alignment="left",
        loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=ax.transAxes + down,
        borderaxespad=0, borderpad=0, ncols=columns, frameon=False, fontsize=size,
        labelcolor=drawing.ink(ax), columnspacing=1.6, handlelength=1.4,
    )  # fmt: skip
    legend.get_title().set_color(drawing.ink(ax))
    rows = -(-len(entries) // columns)
    return size * (1.9 * rows + 1.4 * len(lines)) + _LEGEND_END
