"""Base class of the pickers: register, language, lock, and the view in a saved notebook."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import ipywidgets
import polars as pl
import traitlets
from IPython.core.getipython import get_ipython

from finstat_kit import arguments, given_frames
from finstat_kit.arguments import Lang
from finstat_kit.calls import Checked
from finstat_kit.client import current
from finstat_kit.client.register import Register
from finstat_kit.errors import invalid
from finstat_kit.frames.financials.assemble import holds
from finstat_kit.protocol.records import UNITS
from finstat_kit.protocol.untrusted import escape
from finstat_kit.widgets.controls.in_browser import LAYOUT, Export, Keys
from finstat_kit.widgets.texts import words

LABEL_WIDTH: Final = "8.5em"  # of all controls, to align them; as in typeahead.css
# Below boxes, beside their labels: of what has a margin itself, and of what has none.
BELOW: Final = {"margin": f"2px 2px 2px calc({LABEL_WIDTH} + 10px)"}
ROW_BELOW: Final = {
    "flex_flow": "row wrap",
    "align_items": "center",
    "margin": f"0 0 0 calc({LABEL_WIDTH} + 8px)",
}
_VIEW: Final = "application/vnd.jupyter.widget-view+json"
_CELL: Final = "padding:2px 8px;line-height:1.4;text-align:"


class Picker(Checked, ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """A box of controls kept consistent with each other.

    Attributes:
        lang: ``"sk"`` or ``"en"``; settable, and the choice is kept.
    """

    # Checked below. No property may return a Literal: jedi fails on it and completes nothing.
    lang: traitlets.TraitType[Lang, Lang] = traitlets.TraitType("sk")
    _EXPORTS: tuple[str, ...] = ("code",)

    def __init__(self, register: Register | str | None, lang: Lang | None) -> None:
        self._register = current.named(register)
        self._lock = threading.RLock()
        self._quiet = False
        super().__init__()
        self.add_class("fk-picker")
        self._displayed = False
        self.export = Export(self._EXPORTS, self._file, lambda: self.code())
        self._keys = Keys()
        self.observe(self._relabel_own, "lang")
        self.lang = self._register._language(lang)
        self._relabel_own()

    def _relabel_own(self, _: object = None) -> None:
        self.export.relabel(self.lang)
        self._keys.lang = self.lang

    def _set_controls(self, *controls: ipywidgets.Widget) -> None:
        self.children = (*controls, self._keys)

    def _buttons(self, *before: ipywidgets.Widget) -> ipywidgets.HBox:
        """Make the row below all other controls, with the code's button at its end."""
        return ipywidgets.HBox([*before, self.export], layout=ROW_BELOW)

    def share(self, other: Picker) -> None:
        """Be a part of another picker: use its lock, and leave the code to it."""
        self._lock = other._lock
        rows = [child for child in self.children if self.export in getattr(child, "children", ())]
        self.children = tuple(child for child in self.children if child not in rows)
        for row in rows:
            row.layout.close()
            row.close()

    def close(self) -> None:
        """Close the picker with all of its controls, so that the kernel keeps none of them."""
        widgets: dict[int, ipywidgets.Widget] = {}
        # What was refused as it was made has no controls, and is closed all the same.
        found: list[object] = [self] if "_keys" in vars(self) else []
        while found:
            part = found.pop()
            if isinstance(part, tuple | list):
                found += part
            elif isinstance(part, ipywidgets.Widget) and id(part) not in widgets:
                widgets[id(part)] = part
                found += [*vars(part).values(), *part.trait_values().values()]
        for widget in widgets.values():
            if widget is not self:
                widget.close()
        super().close()

    def code(self) -> str:
        """Return Python that gives the same selection in a fresh process."""
        raise NotImplementedError

    def _file(self, kind: str) -> tuple[str, bytes]:
        raise NotImplementedError

    @traitlets.validate("lang")
    def _known_lang(self, proposal: traitlets.Bunch) -> Lang:
        return arguments.lang(proposal["value"])

    def _observe_user(
        self, control: traitlets.HasTraits, then: Callable[[Any], object], name: str = "value"
    ) -> None:
        """Call *then* with each new value that is not set by the picker itself, under its lock."""

        # Callbacks come from the browser on one thread while cells run on another.
        def changed(change: traitlets.Bunch) -> None:
            with self._lock:
                if not self._quiet:
                    then(change["new"])

        control.observe(changed, name)

    @contextmanager
    def _without_observers(self) -> Iterator[None]:
        """Change controls without treating the change as the user's choice."""
        former, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = former

    def _repr_mimebundle_(self, **options: object) -> dict[str, object]:
        self._wait_for_content()
        bundle: dict[str, object] = super()._repr_mimebundle_(**options)
        return {**bundle, **self._saved_view()}

    def _ipython_display_(self) -> None:
        # Two outputs: where the live one cannot be shown, nothing else of its bundle is. Without a
        # kernel JupyterLab has an error there, and nbconvert a script from the network.
        bundle = self._repr_mimebundle_()
        self._publish({_VIEW: bundle.pop(_VIEW)})
        self._displayed = True
        self._publish(bundle, transient={"display_id": self.model_id})

    def _mime_(self) -> tuple[str, str]:
        # Called by marimo, which shows single anywidgets, but no box of ipywidgets.
        self._wait_for_content()
        line = escape(words(self.lang)["still"].format(name=type(self).__name__))
        return "text/html", f"<p>{line}</p>{self._static()}"

    def _saved_view(self) -> dict[str, object]:
        """Return what a saved notebook keeps of the state."""
        return {
            "text/plain": repr(self),
            "text/html": f'<div class="fk-kept">{self._static()}</div>',
        }

    def _drawn(self) -> None:
        """Bring up to date what shows the state: the saved view, and no code of a former one."""
        self.export.code = ""
        if self._displayed:
            self._publish(self._saved_view(), transient={"display_id": self.model_id}, update=True)

    def _publish(self, data: dict[str, object], **options: object) -> None:
        # A terminal would print an update as another output.
        if (shell := get_ipython()) and (hasattr(shell, "kernel") or "update" not in options):
            shell.display_pub.publish(data, **options)

    def _wait_for_content(self) -> None:
        """Wait for the content of a saved notebook, if it is the same on every run."""

    def _static(self) -> str:
        raise NotImplementedError


def dropdown(name: str, options: Sequence[tuple[str, str]] = ()) -> ipywidgets.Dropdown:
    """Make a drop-down of texts and values, with a class of CSS."""
    style = {"description_width": LABEL_WIDTH}
    return ipywidgets.Dropdown(options=list(options), layout=LAYOUT, style=style).add_class(name)


def language(picker: Picker) -> ipywidgets.Dropdown:
    """Make the drop-down of a picker's language; each follows the other."""
    control = dropdown("fk-language", [("Slovenčina", "sk"), ("English", "en")])

    def follow(_: object = None) -> None:
        control.value = picker.lang
        control.description = words(picker.lang)["language"]

    follow()
    picker.observe(follow, "lang")
    control.observe(lambda change: picker.set_trait("lang", change["new"]), "value")
    return control


def is_of_given(register: Register) -> bool:
    """Whether a register is a mirror of given units, which counts and lists no others."""
    return register._source.given is not None


def is_local(register: Register) -> bool:
    """Whether a register answers at once and without a network: a sample, a copy, a recording.

    What is chosen is then answered before the call returns, so that a saved notebook does not
    depend on timing.
    """
    return register._source.at_hand or register._session.offline


def records(
    frame: pl.DataFrame | pl.LazyFrame, needed: Sequence[str], optional: Sequence[str] = ()
) -> pl.DataFrame:
    """Return records given by the user.

    Raises:
        UsageError: Not a frame, or a column is missing or of another type.
    """
    frame = given_frames.collected("units", frame)
    present = [name for name in optional if name in frame.columns]
    check_columns(frame.schema, (*needed, *present), "units")
    return frame


def check_columns(columns: pl.Schema, needed: Sequence[str], argument: str) -> None:
    """Refuse records without a column, or with one that does not hold what records have in it."""
    missing = [name for name in needed if name not in columns]
    if missing:
        raise invalid(
            argument,
            ...,
            f": the frame has no columns {missing}",
            give="records as returned by fk.units.get()",
        )
    for name in needed:
        if not holds(columns[name], UNITS[name]):
            raise invalid(
                argument,
                ...,
                f": the column {name!r} is {columns[name]}",
                give=f"it as {UNITS[name]}, as fk.units.get() returns it",
            )


def line() -> ipywidgets.HTML:
    """Make a line of text below controls."""
    return ipywidgets.HTML(layout=BELOW)


def status(text: str) -> str:
    """Return a text, possibly untrusted, as a line that screen readers announce on change."""
    return f'<small role="status" aria-live="polite">{escape(text)}</small>'


def heading(title: str, summary: str) -> str:
    """Return the head of a panel, from texts possibly untrusted."""
    return (
        f'<div style="font-size:1.2em;font-weight:bold">{escape(title)}</div>'
        f'<div style="line-height:1.4;margin-bottom:0.5em">{escape(summary)}</div>'
    )


def scrolling(name: str, style: str, inner: str) -> str:
    """Return a box that scrolls; it is in the order of the Tab key, so that the keyboard can."""
    style += "overflow:auto;padding-right:1em"
    label = escape(name)
    return inner and (
        f'<div tabindex="0" role="region" aria-label="{label}" style="{style}">{inner}</div>'
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0) -> str:
    """Return a table of texts, possibly untrusted; the last *numbers* columns hold numbers."""
    first_number = len(head) - numbers

    def row(cells: Sequence[str], open_cell: str, close_cell: str) -> str:
        written = (
            f'{open_cell} style="{_CELL}{"right" if column >= first_number else "left"}">'
            f"{escape(cell)}{close_cell}"
            for column, cell in enumerate(cells)
        )
        return f"<tr>{''.join(written)}</tr>"

    header = row(head, '<th scope="col"', "</th>")
    body = "".join(row(cells, "<td", "</td>") for cells in rows)
    return f"<table><thead>{header}</thead><tbody>{body}</tbody></table>"
