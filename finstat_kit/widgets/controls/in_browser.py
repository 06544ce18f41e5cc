"""The controls that are written for the browser: export buttons, keys, tile map, search field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import anywidget
import traitlets

from finstat_kit.arguments import Lang
from finstat_kit.widgets.texts import failed, words

LAYOUT: Final = {"width": "340px", "max_width": "calc(100% - 4px)"}  # without its margins


class Export(anywidget.AnyWidget):
    """A row of buttons; the browser saves each file, so that none appears beside the notebook.

    Args:
        kinds: Suffixes of files, and ``code``.
        file: Returns name and content of the file with a suffix.
        code: Returns the code.

    Attributes:
        code: The code shown, "" while it is hidden.
        note: The reason why there is no file or code, else "".
    """

    _esm = Path(__file__).with_name("export.mjs")
    _css = Path(__file__).with_name("export.css")

    kinds: traitlets.List[str] = traitlets.List().tag(sync=True)
    texts: traitlets.Dict[str, object] = traitlets.Dict().tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    note = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        kinds: Sequence[str],
        file: Callable[[str], tuple[str, bytes]],
        code: Callable[[], str],
    ) -> None:
        super().__init__(kinds=list(kinds))
        self._file, self._code = file, code
        self.add_class("fk-export")
        self.on_msg(self._on_click)

    def __repr__(self) -> str:
        return f"Export({', '.join(self.kinds)})"

    def relabel(self, lang: Lang) -> None:
        """Set the language of the buttons."""
        self.texts = {**words(lang, "exports"), "hints": words(lang, "export_hints")}
        self._lang: Lang = lang

    def _on_click(self, _: object, content: dict[str, str], __: object) -> None:
        self.note = ""
        try:
            if content["kind"] == "code":
                self.code = "" if self.code else self._code()
            else:
                name, data = self._file(content["kind"])
                self.send({"name": name}, [data])
        except Exception as error:  # noqa: BLE001 - in a callback it would be lost otherwise
            self.note = failed(error, self._lang)


class Keys(anywidget.AnyWidget):
    """An invisible widget that keeps the notebook's shortcuts away from its box.

    Its style is that of all buttons and distances, and hides the saved view beside live controls.

    Attributes:
        lang: The language of the box: of its voice, and of dates where a browser follows it.
    """

    _esm = Path(__file__).with_name("keys.mjs")
    _css = Path(__file__).with_name("keys.css")

    lang = traitlets.Unicode("sk").tag(sync=True)

    def __init__(self) -> None:
        super().__init__(layout={"display": "none"})


class TileMap(anywidget.AnyWidget):
    """A picture whose tiles can be chosen by mouse and keyboard.

    Attributes:
        value: Code of the chosen tile, "" for none.
        up: Code chosen by Escape.
        picture: HTML with an SVG whose tiles have ``data-code``, ``data-x`` and ``data-y``.
        hint: The line below while no tile is pointed at.
    """

    _esm = Path(__file__).with_name("tilemap.mjs")
    _css = Path(__file__).with_name("tilemap.css")

    value = traitlets.Unicode("").tag(sync=True)
    up = traitlets.Unicode("").tag(sync=True)
    picture = traitlets.Unicode("").tag(sync=True)
    hint = traitlets.Unicode("").tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.add_class("fk-tilemap")

    def __repr__(self) -> str:
        return f"TileMap(value={self.value!r}, {self.picture.count('data-code=')} tiles)"


class TypeAhead(anywidget.AnyWidget):
    """A text field with a list of matches: accents and case ignored, words in any order.

    Only Enter, Tab or a click chooses an entry. Where no entry matches, those of the other fields
    of the picker are offered under the names of their fields.

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
            ``elsewhere``, ``in_field``, ``more``, ``searching``.
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
