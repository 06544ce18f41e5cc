"""A search field over thousands of entries, filtered in the browser."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

from finstat_kit.widgets.controls.base import LAYOUT


class TypeAhead(anywidget.AnyWidget):
    """A text field with a list of matches: accents and case ignored, words in any order.

    Only Enter, Tab or a click chooses an entry.

    Attributes:
        value: Code of the chosen entry, "" for none.
        items: Per entry: code, name, distinguishing text, code of its district and of its region,
            and, if it has one, a further number to search for; sent to the browser once, in the
            order of the options.
        within: Code of a district or region whose entries come first, "" for none. The others
            follow, so that an entry without a parent can still be found.
        searched: Whether the browser does not filter, but sends the text, and the entries that
            match it are those of `found`.
        sought: The text that was typed last, sent while it is typed; only if `searched`.
        found: Its outcome: ``text`` is the text, ``codes`` those of the matching entries, best
            first, ``more`` the number of further ones.
        texts: The texts of the field: ``label``, ``placeholder``, ``clear``, ``none``,
            ``elsewhere``, ``more``, ``searching``.
    """

    _esm = Path(__file__).with_name("typeahead.mjs")
    _css = Path(__file__).with_name("typeahead.css")

    value = traitlets.Unicode("").tag(sync=True)
    items: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    within = traitlets.Unicode("").tag(sync=True)
    texts: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)

    searched = traitlets.Bool(default_value=False).tag(sync=True)
    sought = traitlets.Unicode("").tag(sync=True)
    found: traitlets.Dict[str, object] = traitlets.Dict().tag(sync=True)

    def __init__(self, name: str, *, searched: bool = False) -> None:
        super().__init__(searched=searched, layout=LAYOUT)
        self.add_class(name)

    def __repr__(self) -> str:
        return f"TypeAhead(value={self.value!r}, {len(self.options)} of {len(self.items)} offered)"

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """Name and code of the entries listed first: those within the choice above."""
        return tuple(
            (name, code)
            for code, name, _, *parents in self.items
            if not self.within or self.within in parents
        )

    @traitlets.validate("value")
    def _known(self, proposal: traitlets.Bunch) -> str:
        value: str = proposal["value"]
        if value and all(value != item[0] for item in self.items):
            raise traitlets.TraitError(f"Invalid selection: {value!r} is not in this list")
        return value
