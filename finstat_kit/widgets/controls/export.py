"""The buttons that save what a picker selects, and show the code that gives it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anywidget
import traitlets

from finstat_kit.arguments import Lang
from finstat_kit.widgets.html.texts import words


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
        self._failed = words(lang)["failed"]

    def _on_click(self, _: object, content: dict[str, str], __: object) -> None:
        self.note = ""
        try:
            if content["kind"] == "code":
                self.code = "" if self.code else self._code()
            else:
                name, data = self._file(content["kind"])
                self.send({"name": name}, [data])
        except Exception as error:  # noqa: BLE001 - in a callback it would be lost otherwise
            self.note = f"{self._failed}: {error}"
