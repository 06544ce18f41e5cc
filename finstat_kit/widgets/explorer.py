"""Both pickers with a map, a chart and a table of what they select."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import ipywidgets
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from finstat_kit.arguments import By, Lang
from finstat_kit.charts.parts import tiles
from finstat_kit.charts.plot_counts import plot_counts
from finstat_kit.charts.plot_map import plot_map
from finstat_kit.charts.values import drawn_table
from finstat_kit.client.register import Register
from finstat_kit.errors import UsageError
from finstat_kit.frames.files.write import write
from finstat_kit.protocol.records import UNITS
from finstat_kit.protocol.wire import CHANGED
from finstat_kit.widgets.change_picker import ChangePicker, is_later, requested_day
from finstat_kit.widgets.controls import base
from finstat_kit.widgets.controls.background import LatestWins
from finstat_kit.widgets.controls.in_browser import TileMap
from finstat_kit.widgets.controls.options import FIELDS
from finstat_kit.widgets.html import drawn, reproduce
from finstat_kit.widgets.html.panel import Shown, folded_table, head, panel, title
from finstat_kit.widgets.location_picker import LocationPicker
from finstat_kit.widgets.texts import failed, words

_BELOW: dict[str | None, By] = {
    None: "kraj",
    "region": "okres",
    "district": "sidlo",
    "municipality": "sidlo",
}
_ROW = {"flex_flow": "row wrap", "align_items": "flex-start"}
_SAMPLE_PATIENCE = 20.0  # seconds; a sample answers far sooner
_BLOCK = 1_000  # records between two checks whether they are still needed


class Explorer(base.Picker):
    """Pick a place and a day of change; see the units counted one level below.

    The map takes a click, or arrow keys and Enter; Escape goes up one level.

    Args:
        units: Records of units, such as `fk.units.get` returns; those changed since the chosen day
            are shown. None fetches the records of the register's units, but never from a real
            host, which needs a frame.
        register: A `Register`, or what `use` takes; None is the current one.
        lang: Language of controls and labels, ``"sk"`` or ``"en"``; None is the register's.

    Attributes:
        location: The `LocationPicker`.
        change: The `ChangePicker`.
        language: The drop-down of the language.
        view: The buttons of the view; its ``value`` is ``"map"``, ``"bars"`` or ``"table"``. The
            map has bars beside it only where it does not show what is counted.
        map: The regions, or the districts of the chosen one; its ``value`` is a code or "".
        lang: Settable; the choice is kept.

    Raises:
        UsageError: The frame lacks ``kraj``, ``okres``, ``sidlo`` or ``datumPoslednejUpravy``, or
            one of them has another type than in records.

    Example:
        >>> import finstat_kit as fk
        >>> with fk.using(fk.sample()):
        ...     explorer = fk.Explorer(fk.units.get(fk.units.ids(changed_since="2026-06-01")))
        >>> explorer.location.value = "SK031"
        >>> explorer
        Explorer(value='SK031', changed_since=None, units=29, lang='sk')
        >>> explorer.counts.row(0)
        ('SK0316', 'Martin', 6, 0.206..., 'labelled', 'okres')
    """

    _EXPORTS = ("csv", "xlsx", "png", "code")

    def __init__(
        self,
        units: pl.DataFrame | pl.LazyFrame | None = None,
        *,
        register: Register | str | None = None,
        lang: Lang | None = None,
    ) -> None:
        super().__init__(register, lang)
        self._shown: Shown | None = None
        self._given = None if units is None else base.records(units, (*FIELDS.values(), CHANGED))
        self._units: pl.DataFrame | None = None  # the units changed since the day, once fetched
        self.location = LocationPicker(register=self._register, lang=self.lang)
        self.change = ChangePicker(register=self._register, lang=self.lang)
        # Each calls the other under its lock: two locks would wait for each other.
        self.location.share(self)
        self.change.share(self)
        self.language = base.language(self)
        self.view = ipywidgets.ToggleButtons(style={"button_width": "auto"}).add_class("fk-view")
        self.line = ipywidgets.HTML(layout={"min_width": "0"}).add_class("fk-line")
        self.map = TileMap()
        wide = {"flex": "1 1 20em", "min_width": "0"}
        self.panel = ipywidgets.HTML(layout=wide).add_class("fk-panel")
        self._relabel()
        self._set_controls(*self._control_rows())
        self._records = LatestWins(self._fetch, self._take_records)
        self._load()
        self._observe_user(self.location, lambda _: self._draw())
        self._observe_user(self.change, lambda _: self._load())
        self._observe_user(self.map, lambda code: self.location.set_trait("value", code or None))
        self._observe_user(self.view, lambda _: self._draw())
        self._observe_user(self, self._on_lang, "lang")

    def __repr__(self) -> str:
        day = self.change.value and self.change.value.isoformat()
        units = None if (frame := self.frame) is None else frame.height
        return (
            f"Explorer(value={self.location.value!r}, changed_since={day!r}, units={units}, "
            f"lang={self.lang!r})"
        )

    @property
    def frame(self) -> pl.DataFrame | None:
        """The selected records; None until they are fetched, see `fetch`."""
        units = self._units
        return None if units is None else self.location.filter(units)

    @property
    def counts(self) -> pl.DataFrame | None:
        """The selection counted one level below the choice, as `Register.count_by` does."""
        frame, by = self.frame, _BELOW[self.location.level]
        return None if frame is None else self._register.count_by(frame, by, lang=self.lang)

    def fetch(self) -> pl.DataFrame:
        """Wait for the selected records, and return them.

        Raises:
            UsageError: The register is a real one and no records were given.
            RegisterError: The records could not be fetched.
        """
        if self._given is None and self._register._session.remote:
            raise UsageError(words("en")["pass_frame"].format(name="Explorer"))
        while (frame := self.frame) is None:
            self._records.result()
            self._take_records()
        return frame

    def code(self) -> str:
        """Return Python that gives the same selection in a fresh process, as ``selection``.

        It fetches the records by the day since which they changed; a frame that was given is named
        in it, as ``units``.
        """
        day = requested_day(self.change.value)
        level, code = self.location.level, self.location.value
        field = FIELDS[level] if level else None
        if self._given is None:
            return reproduce.by_day(self._register, day, field, code)
        return reproduce.by_frame(day, field, code)

    def _control_rows(self) -> tuple[ipywidgets.Widget, ...]:
        def row(*controls: ipywidgets.Widget) -> ipywidgets.HBox:
            return ipywidgets.HBox(controls, layout=_ROW)

        return (
            row(self.location, ipywidgets.VBox([self.change, self.language])),
            self._buttons(self.view),
            self.line,
            row(self.map, self.panel),
        )

    def _on_lang(self, _: object) -> None:
        self.location.lang = self.change.lang = self.lang
        self._relabel()
        self._draw()

    def _relabel(self) -> None:
        views = words(self.lang, "views")
        with self._without_observers(), self.view.hold_sync():
            chosen = self.view.value or "map"
            self.view.options = [(text, view) for view, text in views.items()]
            self.view.value = chosen

    def _load(self) -> None:
        """Get the records for the day: at once from a frame, else in the background."""
        if self._given is not None:
            self._units = self.change.filter(self._given)
        elif not self._register._session.remote:
            self._units = None
            self._records.submit(self.change.value)
        self._draw()

    def _fetch(self, day: date | None, given_up: Callable[[], bool]) -> pl.DataFrame:
        units = self._register.units
        if is_later(self._register, day):
            return pl.DataFrame(schema=UNITS)
        if base.is_of_given(self._register):
            return units.scan(changed_since=requested_day(day)).collect()
        ids = units.ids(changed_since=requested_day(day), progress=False)
        frames = [pl.DataFrame(schema=UNITS)]
        for block in ids.iter_slices(_BLOCK):
            if given_up():
                break
            frames.append(units.get(block, progress=False))
        return pl.concat(frames, rechunk=True)

    def _take_records(self) -> None:
        """Take over the records of the newest day; called on a separate thread."""
        with self._lock:
            outcome = self._records.outcome
            if outcome is not None and self._units is None:
                self._units = outcome.answer
                self._draw()

    def _draw(self) -> None:
        """Show the selection: each number once, in the map, as a bar or in the table."""
        texts, view, picture, counts = words(self.lang), self.view.value, "", ""
        self._shown = None
        if self._units is not None:
            self._shown = selection = self._selection(self._units)
            by, mapped = self._map_of_places(self._units)
            picture = mapped if view == "map" else ""
            # A single row is in the summary, and on the map.
            mapped_already = by == selection.by or selection.table.rows.height == 1
            counts = "" if picture and mapped_already else panel(selection, view)
            line = head(selection)
        elif self._register._session.remote:
            line = base.status(texts["pass_frame"].format(name="Explorer"))
        elif (outcome := self._records.outcome) is not None and outcome.error is not None:
            line = base.status(failed(outcome.error, self.lang))
        else:
            self.line.value = base.status(texts["loading"])
            return
        self._draw_map(picture)
        self.panel.value = counts
        self.panel.layout.display = None if counts else "none"  # the map has all of the width
        self.line.value = line
        self._drawn()

    def _draw_map(self, picture: str) -> None:
        path = self.location.codes
        above = [code or "" for code in path.values() if code != self.location.value]
        with self._without_observers(), self.map.hold_sync():
            self.map.picture = picture
            self.map.layout.display = None if picture else "none"
            self.map.hint = words(self.lang)["on_map"] if picture else ""
            self.map.value = self.location.value or ""
            self.map.up = next(filter(None, reversed(above)), "")

    def _map_of_places(self, units: pl.DataFrame) -> tuple[By, str]:
        """Return the map of the districts of the chosen region, else of the regions, and which."""
        codes, region_name = self.location.codes, None
        by: By = "kraj"
        region, field, chosen_code = codes["kraj"], self.location.region, codes["kraj"]
        if region in tiles.REGIONS:
            field, by, chosen_code = self.location.district, "okres", codes["okres"]
            region_name = next(
                name for name, code in self.location.region.options if code == region
            )
            units = units.filter(pl.col("kraj") == region)
        table = drawn_table.of_bars(units, by, None, self.lang, self._register)
        names = {code: name for name, code in field.options}
        heading = title(by, region_name, self.lang)
        return by, drawn.tile_map(by, table, names, chosen_code or "", heading)

    def _selection(self, units: pl.DataFrame) -> Shown:
        by, selected = _BELOW[self.location.level], self.location.filter(units)
        return Shown(
            table=drawn_table.of_bars(selected, by, None, self.lang, self._register),
            by=by,
            place=self.location.name,
            narrowed=self.location.level != "municipality",
            day=self.change.value,
            given=None if self._given is None else self._given.height,
            source=self._register._source_name(self.lang),
            lang=self.lang,
        )

    def _wait_for_content(self) -> None:
        if self._given is None and base.is_local(self._register):
            self._records.settled(_SAMPLE_PATIENCE)
            self._take_records()

    def _static(self) -> str:
        if self._shown is None:
            return str(self.line.value)
        table = "" if self.view.value == "table" else folded_table(self._shown)
        return f"{self.line.value}{self.map.picture}{self.panel.value}{table}"

    def _file(self, kind: str) -> tuple[str, bytes]:
        units = self.fetch()
        day = self.change.value and self.change.value.isoformat()
        name = "-".join(filter(None, ("units", self.location.value, day)))
        if kind == "png":
            return f"{name}.png", self._picture()
        note = self._register.cite(lang=self.lang) if kind == "xlsx" else None
        with TemporaryDirectory() as folder:
            path = write(units, Path(folder) / f"{name}.{kind}", note=note)
            return path.name, path.read_bytes()

    def _picture(self) -> bytes:
        selection = self._shown
        assert selection is not None
        # Not of pyplot, whose figures belong to the cells.
        figure = Figure((8, 4.8), layout="constrained")
        mapped = selection.by == "kraj" and self.map.picture and not self.panel.value
        plot: Callable[..., Axes] = plot_map if mapped else plot_counts
        plot(
            self.counts, by=selection.by, title=selection.title, note=selection.extent,
            lang=self.lang, ax=figure.subplots(), register=self._register,
        )  # fmt: skip
        drawn_file = BytesIO()
        figure.savefig(drawn_file, dpi=150)
        return drawn_file.getvalue()
