"""The picker of a place."""

from __future__ import annotations

from functools import partial

import polars as pl
import traitlets

from finstat_kit.arguments import Lang
from finstat_kit.client.register import Register
from finstat_kit.errors import invalid
from finstat_kit.frames.places.labels import schema_of
from finstat_kit.frames.places.locations import LEVELS
from finstat_kit.given_frames import Frame
from finstat_kit.widgets.controls import base
from finstat_kit.widgets.controls.in_browser import TypeAhead
from finstat_kit.widgets.controls.options import FIELDS, Path, Places
from finstat_kit.widgets.html import reproduce
from finstat_kit.widgets.texts import words


class LocationPicker(base.Picker):
    """Pick a region, a district, a municipality; each narrows the next.

    Each field filters its entries while you type, ignoring accents and case, with words in any
    order. Enter selects the highlighted entry, Tab the only match or an exact name; an emptied
    field clears its level. A choice also sets the levels above it. Options are in Slovak
    alphabetical order, abroad last; those outside the choice above follow the others.

    Args:
        register: Source of the codelists: a `Register`, or what `use` takes; None is the current
            one.
        lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's.

    Attributes:
        value: Code of the deepest choice, or None; settable and observable.
        lang: Settable; the choice is kept.
        region: Its field; ``.value`` is a code, or "" for all regions.
        district: Its field; ``.value`` is a code, or "" for all districts.
        municipality: Its field; ``.value`` is a code or "".

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     picker = fk.LocationPicker()
        >>> picker.value = "SK032D516589"
        >>> picker
        LocationPicker(value='SK032D516589', name='Žiar nad Hronom', lang='sk')
        >>> picker.region.value = "SK010"
        >>> picker.codes
        {'kraj': 'SK010', 'okres': None, 'sidlo': None}
    """

    value: traitlets.TraitType[str | None, str | None] = traitlets.TraitType(
        None, allow_none=True
    )  # checked below

    def __init__(self, *, register: Register | str | None = None, lang: Lang | None = None) -> None:
        super().__init__(register, lang)
        self._places = Places(self._register.locations())
        self._path = Path()
        self.region = TypeAhead("fk-region")
        self.district = TypeAhead("fk-district")
        self.municipality = TypeAhead("fk-municipality")
        self._relabel()
        self._set_controls(*self._controls, self._buttons())
        for level, control in zip(LEVELS, self._controls, strict=True):
            self._observe_user(control, partial(self._on_control, level))
        self._observe_user(self, self._on_lang, "lang")

    def __repr__(self) -> str:
        name = self._places.name(self._path, self.lang)
        return f"LocationPicker(value={self.value!r}, name={name!r}, lang={self.lang!r})"

    @property
    def codes(self) -> dict[str, str | None]:
        """The codes of all three levels by record field, None where nothing is chosen."""
        return {FIELDS[level]: code or None for level, code in zip(LEVELS, self._path, strict=True)}

    @property
    def level(self) -> str | None:
        """The level of the deepest choice: ``region``, ``district``, ``municipality``, or None."""
        return self._path.deepest[0] if self._path.deepest else None

    @property
    def name(self) -> str | None:
        """The name of the deepest choice, or None."""
        return self._places.name(self._path, self.lang)

    def filter(self, frame: Frame) -> Frame:
        """Return the rows of the chosen place, or all rows if nothing is chosen.

        A row matches if its code equals that of the deepest choice.

        Args:
            frame: Records, or any frame with the column ``kraj``, ``okres`` or ``sidlo``.

        Raises:
            UsageError: The frame has no such column, or not one of texts.
        """
        columns = schema_of(frame)
        deepest = self._path.deepest
        if deepest is None:
            return frame
        level, code = deepest
        base.check_columns(columns, (FIELDS[level],), "frame")
        return frame.filter(pl.col(FIELDS[level]) == code)

    def code(self) -> str:
        """Return Python that filters a frame of records, ``units``, by the place."""
        level = self.level
        return reproduce.by_frame(None, FIELDS[level] if level else None, self.value)

    @property
    def _controls(self) -> tuple[TypeAhead, TypeAhead, TypeAhead]:
        return self.region, self.district, self.municipality

    @traitlets.validate("value")
    def _known_code(self, proposal: traitlets.Bunch) -> str | None:
        code = proposal["value"]
        if code is None or code == "":
            return None
        if not isinstance(code, str) or self._places.find(code) is None:
            raise invalid("value", code, "is not the code of a place", cure="see fk.locations()")
        return code

    @traitlets.observe("value")
    def _on_value(self, _: traitlets.Bunch) -> None:
        with self._lock:
            # Not the value of this change: another thread may have changed it since.
            code = self.value
            if code != _code(self._path):
                self._choose((code and self._places.find(code)) or Path())

    def _on_lang(self, _: object) -> None:
        self._relabel()
        self._drawn()

    def _on_control(self, level: str, code: str) -> None:
        """Take over the choice of a control; an empty one means the choice above it."""
        if code:
            self._choose(self._places.path(level, code) or self._path)
        else:
            self._choose(Path(*self._path[: LEVELS.index(level)]))

    def _choose(self, path: Path) -> None:
        self._path = path
        self._show()
        self.value = _code(path)
        self._drawn()

    def _show(self) -> None:
        """Show the choice in the fields, and offer the places within it first."""
        region, district, _ = self._path
        within = ("", region, district or region)
        with self._without_observers():
            for control, code, choice in zip(self._controls, self._path, within, strict=True):
                with control.hold_sync():
                    control.within = choice
                    control.value = code

    def _relabel(self) -> None:
        with self._without_observers():
            for level, control in zip(LEVELS, self._controls, strict=True):
                with control.hold_sync():
                    control.texts = {
                        "label": words(self.lang, "levels")[level],
                        "placeholder": words(self.lang, "every")[level],
                        "clear": words(self.lang, "clear")[level],
                        **words(self.lang, "search"),
                    }
                    control.items = self._places.items(level, self.lang)

    def _static(self) -> str:
        texts = words(self.lang)
        rows = []
        for level, code in zip(LEVELS, self._path, strict=True):
            path = self._places.path(level, code) if code else None
            name = self._places.name(path, self.lang) if path else None
            rows.append([words(self.lang, "levels")[level], name or texts["nothing_chosen"], code])
        return base.table(["", "", texts["code"]], rows)


def _code(path: Path) -> str | None:
    return path.deepest[1] if path.deepest else None
