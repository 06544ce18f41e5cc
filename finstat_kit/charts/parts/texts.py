"""The texts around a chart: title, legend, notes and source, or a sentence instead of a chart.

Letters are as large as the present style has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.charts.parts import drawing
from finstat_kit.charts.parts.drawing import GROWTH, breadth, wrapped
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.frames.text import number_format

_HANDLE: Final = 4.0  # letters of an entry of a legend besides its text
_LINE: Final = 1.4  # of the height of letters
_LEGEND_GAP: Final = 7  # points between the axes and the legend
_LEGEND_END: Final = 10  # points below it
_NOTE_LINES: Final = 2
_DETAILS: Final = re.compile(r" \([^()]*\)")  # of a note, that have no room below a chart


class Captions(NamedTuple):
    """The language of a chart, its source, and the caller's texts.

    Attributes:
        lang: Language of all texts.
        source: None if the caller gave the numbers and no register is chosen.
        title: Replaces the heading, which is then the first note; the units below it stay.
        note: Written below all other notes.

    All notes are in ``notes`` of the axes; below the chart are those that fit, and the source.
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
        texts = [heading if self.title is None else self.title, *([units] if units else [])]
        room, size = _room(ax), drawing.title_points()
        lines = [line for text in texts for line in _lines(text, room, size)]
        title = drawing.literal("\n".join(lines))
        written = ax.set_title(title, x=0, ha="left", linespacing=_LINE, pad=pad)
        written.set_transform(written.get_transform() + _shift(ax, beside))

    def noted(self, heading: str, notes: Iterable[str]) -> list[str]:
        """Return the notes that are not empty, after the heading if a title replaces it."""
        replaced = [] if self.title is None else [f"{heading}."]
        return [*replaced, *filter(None, notes)]

    def write_notes(
        self, ax: Axes, notes: Sequence[str], *, key: str = "", beside: float = 0, pad: float = 4
    ) -> None:
        """Write how a chart is read, its notes as far as they fit, the caller's, and the source.

        Args:
            ax: The axes.
            notes: Most important first, which is always written.
            key: What numbers are, a line by itself.
            beside: Inches taken by labels to the left of the axes.
            pad: Points between the axes or their labels and the notes.
        """
        room = _room(ax)
        parts = [key, *self._fitting(notes, room)]
        parts += [] if self.note is None else [self.note]
        if self.source is not None:
            source = self.source._source_name(self.lang)
            parts.append(drawing.WORDS[self.lang]["source"].format(source=source))
        written = [line for text in parts for line in _lines(text, room)]
        text = drawing.literal("\n".join(written))
        label = ax.set_xlabel(text, x=0, ha="left", linespacing=_LINE, labelpad=pad)
        label.set_transform(label.get_transform() + _shift(ax, beside))
        # An attribute of its own: whoever saves the chart finds there what had no room.
        vars(ax)["notes"] = [text for text in (key, *notes, self.note) if text]

    def _fitting(self, notes: Sequence[str], room: float) -> list[str]:
        """Return the first note and those after it that fit, and how many others there are."""
        short = [_DETAILS.sub("", note) for note in notes]
        if notes and len(_lines(notes[0], room)) <= _NOTE_LINES:
            short[0] = notes[0]
        texts = []
        for number in range(1, len(notes) + 1):
            more = drawing.WORDS[self.lang]["further"].format(n=len(notes) - number)
            text = " ".join([*short[:number], *([more] if number < len(notes) else [])])
            texts += [text] if number == 1 or len(_lines(text, room)) <= _NOTE_LINES else []
        return texts[-1:]

    def write_nothing(self, ax: Axes, notes: Iterable[str] = ()) -> None:
        """Write that there is nothing to show, and why."""
        why = list(notes)
        size = drawing.title_points()
        text = " ".join([drawing.WORDS[self.lang]["nothing"], *why])
        lines = wrapped(text, max(drawing.inches(ax)[0] - 0.4, 1), size)
        ax.text(
            0.5, 0.5, drawing.literal("\n".join(lines)), transform=ax.transAxes, ha="center",
            va="center", fontsize=size, color=drawing.ink(ax), linespacing=_LINE,
        )  # fmt: skip
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        self.write_notes(ax, [])
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


def _room(ax: Axes) -> float:
    """Return the inches of a line from the left edge of the names beside the axes."""
    return drawing.inches(ax)[0] * GROWTH


def _shift(ax: Axes, beside: float, down: float = 0) -> ScaledTranslation:
    """Return what moves a text to the left edge of the names, and down, all in inches."""
    return ScaledTranslation(-beside, -down, ax.figure.dpi_scale_trans)


def height_left(ax: Axes) -> float:
    """Return the inches that title, notes and numbers of the axis, all written, leave."""
    title = drawing.title_points() * (ax.get_title().count("\n") + 1)
    notes = drawing.points() * (ax.get_xlabel().count("\n") + 2)
    return drawing.inches(ax)[1] * GROWTH - _LINE * (title + notes) / 72


def _lines(text: str, room: float, size: float | None = None) -> list[str]:
    """Break a text at the ends of its lines, and where the room ends."""
    return [part for line in text.splitlines() for part in wrapped(line, room, size)]


def ticks_height() -> float:
    """Return the points that numbers below the axes take."""
    return 2 * drawing.points() + 3


def patches(entries: Iterable[tuple[str, str]]) -> list[tuple[Artist, str]]:
    """Return the entries of a legend of areas, by their colours."""
    return [
        (
            Patch(
                facecolor=colour,
                edgecolor=drawing.ink_on(colour),
                hatch=drawing.HATCHES.get(colour),
                linewidth=0,
            ),
            text,
        )
        for colour, text in entries
    ]


def legend_below(
    ax: Axes,
    entries: Sequence[tuple[Artist, str]],
    heading: str = "",
    *,
    beside: float = 0,
    ticks: float = 0,
) -> float:
    """Draw a legend below the axes, and return the points that notes leave free for it.

    Args:
        ax: The axes.
        entries: Mark and text of each entry.
        heading: The line above the entries.
        beside: Inches taken by labels to the left of the axes.
        ticks: Points taken by the labels of the axis.
    """
    room, size = _room(ax), drawing.points()
    breadths = [breadth(text) + _HANDLE * size / 72 for _, text in entries]
    for columns in range(len(entries), 0, -1):
        rows = -(-len(entries) // columns)
        parts = (breadths[start : start + rows] for start in range(0, len(entries), rows))
        if sum(map(max, parts)) <= room:
            break
    columns = -(-len(entries) // rows)  # fill the rows equally
    lines = wrapped(heading, room) if heading else []
    moved = _shift(ax, beside, (_LEGEND_GAP + ticks) / 72)
    legend = ax.legend(
        [mark for mark, _ in entries],
        [drawing.literal(text) for _, text in entries],
        title=drawing.literal("\n".join(lines)) or None, title_fontsize=size, alignment="left",
        loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=ax.transAxes + moved,
        borderaxespad=0, borderpad=0, ncols=columns, frameon=False, fontsize=size,
        labelcolor=drawing.ink(ax), columnspacing=1.0, handlelength=2.2, labelspacing=0.25,
    )  # fmt: skip
    legend.get_title().set_color(drawing.ink(ax))
    return size * (1.6 * rows + _LINE * len(lines)) + _LEGEND_END
