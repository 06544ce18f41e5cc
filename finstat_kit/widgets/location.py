"""The picker of a place."""

from __future__ import annotations

from typing import TypeVar

import ipywidgets
import polars as pl
import traitlets

from finstat_kit.arguments import Lang
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError
from finstat_kit.frames.places import LEVELS
from finstat_kit.widgets import base
from finstat_kit.widgets.options import FIELDS, Path, Places
from finstat_kit.widgets.texts import words
from finstat_kit.widgets.typeahead import TypeAhead

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


class LocationPicker(base.Picker):
    """Pick a region, a district, a municipality; each narrows the next.

    Options stand in Slovak alphabetical order, abroad last. The field of the municipality finds
    any of them while you type, without accents and case; choosing one sets district and region.
    An entry whose parent the codelist does not know is offered while nothing is chosen above it.

    Args:
        register: Whose codelists: a `Register`, or what `use` takes; None is the current one.
        lang: Language of the labels, ``"sk"`` or ``"en"``; None is the register's.

    Attributes:
        value: Code of the deepest choice, or None; settable, and to be observed.
        lang: Settable; the choice stays.
        region: The drop-down; ``.value`` is a code or "".
        district: The drop-down; ``.value`` is a code or "".
        municipality: The type-ahead; ``.value`` is a code or "".

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

    value: traitlets.Unicode[str | None, str | bytes | None] = traitlets.Unicode(
        None, allow_none=True
    )

    def __init__(self, register: Register | str | None = None, *, lang: Lang | None = None) -> None:
        super().__init__(register, lang)
        self._places = Places(self._register.locations())
        self._path = Path()
        self.region = _drop_down("fk-region")
        self.district = _drop_down("fk-district")
        self.municipality = TypeAhead()
        self.municipality.layout.width = base.WIDTH
        self.municipality.add_class("fk-municipality")
        self._relabel()
        self._hold(*self._controls)
        for level, control in zip(LEVELS, self._controls, strict=True):
            control.observe(lambda change, level=level: self._on_control(level, change), "value")
        self.observe(self._on_lang, "lang")

    def __repr__(self) -> str:
        name = self._places.name(self._path, self._lang)
        return f"LocationPicker(value={self.value!r}, name={name!r}, lang={self.lang!r})"

    @property
    def codes(self) -> dict[str, str | None]:
        """The codes of all three levels by the field of the records, None where none is chosen."""
        return {FIELDS[level]: code or None for level, code in zip(LEVELS, self._path, strict=True)}

    @property
    def level(self) -> str | None:
        """The level of the deepest choice: ``region``, ``district``, ``municipality``, or None."""
        return self._path.deepest[0] if self._path.deepest else None

    @property
    def name(self) -> str | None:
        """The name of the deepest choice, or None."""
        return self._places.name(self._path, self._lang)

    def filter(self, frame: Frame) -> Frame:
        """Return the rows of the chosen place, all rows where nothing is chosen.

        The rule is equality with the code of the deepest choice.

        Args:
            frame: Records, or any frame with the column ``kraj``, ``okres`` or ``sidlo``.

        Raises:
            UsageError: The frame has no such column.
        """
        deepest = self._path.deepest
        if deepest is None:
            return frame
        level, code = deepest
        columns = frame.collect_schema().names()
        if FIELDS[level] not in columns:
            raise UsageError(
                f"the frame has no column {FIELDS[level]!r} to filter by; it has {columns}"
            )
        return frame.filter(pl.col(FIELDS[level]) == code)

    @property
    def _controls(self) -> tuple[ipywidgets.Dropdown, ipywidgets.Dropdown, TypeAhead]:
        return self.region, self.district, self.municipality

    @traitlets.validate("value")
    def _known_code(self, proposal: traitlets.Bunch) -> str | None:
        code: str | None = proposal["value"] or None
        if code is not None and self._places.find(code) is None:
            raise UsageError(f"value={code!r} is no code of a place; see fk.find_places()")
        return code

    @traitlets.observe("value")
    def _on_value(self, _: traitlets.Bunch) -> None:
        with self._lock:
            # Not what this very change brought: another thread may have been faster since.
            code = self.value
            if code != _code(self._path):
                self._choose((code and self._places.find(code)) or Path())

    def _on_control(self, level: str, change: traitlets.Bunch) -> None:
        with self._lock:
            if not self._quiet:
                self._choose(self._chosen(level, change["new"] or ""))

    def _on_lang(self, _: traitlets.Bunch) -> None:
        with self._lock:
            self._relabel()

    def _chosen(self, level: str, code: str) -> Path:
        """Return the choice that a control means; none means what is chosen above it."""
        if code:
            return self._places.path(level, code) or self._path
        above = self._path[: LEVELS.index(level)]
        return Path(*above)

    def _choose(self, path: Path) -> None:
        self._path = path
        self._show()
        self.value = _code(path)

    def _show(self) -> None:
        """Make the controls offer and show what goes with the choice."""
        region, district, municipality = self._path
        with self._quietly():
            self.region.value = region
            self._offer("district", self.district, district, within=region)
            with self.municipality.hold_sync():
                self.municipality.within = district or region
                self.municipality.value = municipality

    def _relabel(self) -> None:
        said = words(self._lang)
        for level, control in zip(LEVELS[:2], self._controls[:2], strict=True):
            control.description = said.levels[level]
        with self._quietly(), self.municipality.hold_sync():
            self._offer("region", self.region, self._path.region)
            self.municipality.texts = {
                "label": said.levels["municipality"],
                "placeholder": said.type_here,
                "clear": said.clear,
                "none": said.nothing_found,
                "elsewhere": said.elsewhere,
                "more": said.more,
            }
            self.municipality.items = self._places.items(
                self._lang, said.district_of, said.no_district
            )
        self._show()

    def _offer(
        self, level: str, control: ipywidgets.Dropdown, code: str, *, within: str = ""
    ) -> None:
        every = (words(self._lang).every[level], "")
        options = (every, *self._places.options(level, self._lang, within))
        # One message to the browser: new options alone would reset the choice for a moment.
        with control.hold_sync():
            if control.options != options:
                control.options = options
            control.value = code

    def _static(self) -> str:
        said = words(self._lang)
        rows = []
        for level, code in zip(LEVELS, self._path, strict=True):
            path = self._places.path(level, code) if code else None
            name = self._places.name(path, self._lang) if path else None
            rows.append([said.levels[level], name or said.nothing_chosen, code])
        return base.table(["", "", said.code], rows)


def _code(path: Path) -> str | None:
    return path.deepest[1] if path.deepest else None


def _drop_down(name: str) -> ipywidgets.Dropdown:
    # An option whose value is None would blank the drop-down: "" is no choice.
    control = ipywidgets.Dropdown(options=[("", "")], value="", layout={"width": base.WIDTH})
    control.style.description_width = base.LABEL_WIDTH
    control.add_class(name)
    return control
