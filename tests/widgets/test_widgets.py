"""What all pickers share, without a browser."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import nbconvert
import nbformat
import polars as pl
import pytest
from ipywidgets.widgets import widget
from nbclient import NotebookClient

import finstat_kit as fk
from finstat_kit.widgets import controls
from tests.support.pickers import SAMPLE, codelists, first_units, wait_for
from tests.support.registers import sample_of

# What all share


@pytest.mark.parametrize(
    "kind", [fk.LocationPicker, fk.ChangePicker, fk.Explorer, fk.StatementViewer]
)
def test_wrong_arguments_are_refused_and_reprs_are_stable(kind: type) -> None:
    """Misspelt keywords and wrong arguments are errors; repr and table are the same each time."""
    with pytest.raises(TypeError, match="langg"):
        kind(langg="en")
    with pytest.raises(fk.UsageError, match="lang='de'"):
        kind(register=SAMPLE, lang="de")
    with pytest.raises(fk.UsageError, match="no register is chosen"):
        kind()
    with pytest.raises(fk.UsageError, match=r"register='registeruz\.sk' is not a register"):
        kind(register="registeruz.sk")

    with fk.using(sample_of({1: date(2024, 1, 1)})):
        one, two = kind(lang="en"), kind(lang="en")
        bundles = [shown._repr_mimebundle_() for shown in (one, two)]

    assert "\n" not in repr(one)
    assert bundles[0]["text/plain"] == bundles[1]["text/plain"] == repr(one)
    assert bundles[0]["text/html"] == bundles[1]["text/html"]
    assert "<table>" in bundles[0]["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in bundles[0]


def test_a_picker_keeps_the_register_that_was_current_when_it_was_made() -> None:
    """After its block, and on its own threads: a real host is asked in the background."""
    with SAMPLE.serve() as url, fk.using(url):
        change, place = fk.ChangePicker(lang="en"), fk.LocationPicker(lang="en")
        with fk.using(sample_of({})):
            change.value = "2026-06-01"
            place.value = "SK010"

            wait_for(change.line, "323 units")
            assert change.count == SAMPLE.units.count(changed_since="2026-06-01") == 323
            assert place.name == "Region of Bratislava"


@pytest.mark.slow
def test_a_saved_notebook_keeps_the_last_state(tmp_path: Path) -> None:
    """As HTML without scripts the panel is there, with what a later cell has chosen."""
    cells = [
        "import finstat_kit as fk\nfk.use(fk.sample(units=50))",
        "explorer = fk.Explorer(lang='en')\nexplorer",
        "explorer.location.value = 'SK031'",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=60).execute()

    html, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)  # type: ignore[no-untyped-call]

    assert "widgets" in notebook.metadata
    read = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert "Region of Žilina: units by district" in read
    assert "Units by region" not in read


@pytest.mark.parametrize(
    "kind", [fk.LocationPicker, fk.ChangePicker, fk.Explorer, fk.StatementViewer]
)
def test_a_closed_picker_leaves_nothing_in_the_kernel(kind: Any) -> None:
    """Neither its controls nor their layouts; what was there before stays."""
    other = fk.ChangePicker(register=sample_of({1: date(2024, 1, 1)}))
    before = set(widget._instances)

    picker = kind(register=sample_of({1: date(2024, 1, 1)}))
    assert len(set(widget._instances) - before) > 10
    picker.close()
    picker.close()  # as Python does when it forgets one

    assert set(widget._instances) == before
    other.close()


@pytest.mark.parametrize(
    "kind", [fk.LocationPicker, fk.ChangePicker, fk.Explorer, fk.StatementViewer]
)
def test_marimo_shows_the_state_and_what_to_use_there(kind: type) -> None:
    """Boxes of ipywidgets are not shown there: a line says so above the panel."""
    picker = kind(register=sample_of({1: date(2024, 1, 1)}), lang="en")

    content_type, html = picker._mime_()

    assert content_type == "text/html"
    line, _, panel = html.partition("</p>")
    name = kind.__name__
    assert (
        line
        == f"<p>In marimo, {name} is only a picture: use mo.ui.dropdown and mo.ui.date instead."
    )
    assert "<table" in panel or name == "Explorer"


def test_pickers_take_what_use_takes() -> None:
    """A name or a URL does as well as a register; the register's language is the default."""
    sample = fk.sample(10)
    sample.lang = "en"
    with sample.serve() as url:
        assert fk.LocationPicker(register=url).name is None
        assert fk.ChangePicker(register=url, lang="en").fetch() == 10
    assert fk.LocationPicker(register="sample").lang == "sk"
    assert fk.LocationPicker(register=sample).lang == fk.Explorer(register=sample).lang == "en"
    assert fk.ChangePicker(register=sample).count == 10


def test_hostile_labels_are_escaped(tmp_path: Path) -> None:
    """Names come from a stranger: what looks like HTML is shown and never run."""
    bad = "<img src=x onerror=alert(1)>"
    register = codelists(
        tmp_path,
        regions=[("SK010", bad, bad, None)],
        districts=[("SK0101", bad, bad, "SK010")],
        municipalities=[("SK0101529320", bad, bad, "SK0101")],
    )
    frame = pl.DataFrame(
        {"kraj": ["SK010", bad], "okres": "SK0101", "sidlo": "SK0101529320"}
    ).with_columns(datumPoslednejUpravy=date(2024, 1, 1))
    explorer = fk.Explorer(frame, register=register)

    for code in (None, "SK010", "SK0101", "SK0101529320"):
        explorer.location.value = code
        explorer.view.value = "map"
        picture = explorer.map.picture
        explorer.view.value = "table"
        for html in (
            explorer.panel.value,
            picture,
            explorer._repr_mimebundle_()["text/html"],
            explorer.location._repr_mimebundle_()["text/html"],
        ):
            assert "<img src=x" not in html  # type: ignore[operator]
            assert code is None or "&lt;img src=x" in html  # type: ignore[operator]


def test_every_control_has_a_name() -> None:
    """Each control says what it is, in both languages."""
    explorer = fk.Explorer(first_units(), register=SAMPLE)
    for lang in ("sk", "en"):
        explorer.lang = lang
        names = [
            explorer.location.region.texts["label"],
            explorer.location.district.texts["label"],
            explorer.location.municipality.texts["label"],
            explorer.change.calendar.description,
            explorer.language.description,
            *(button.description for button in explorer.change.quick.values()),
        ]
        assert all(names)
        assert len(set(names)) == len(names)


def test_the_browsers_part_is_in_the_package() -> None:
    """The scripts lie beside the modules that send them, and load nothing from elsewhere."""
    folder = Path(controls.__file__ or "").parent

    assert {path.name for path in folder.iterdir() if path.suffix in (".mjs", ".css")} == {
        "export.css",
        "export.mjs",
        "keys.css",
        "keys.mjs",
        "tilemap.css",
        "tilemap.mjs",
        "typeahead.css",
        "typeahead.mjs",
    }
    for path in folder.glob("*.mjs"):
        text = path.read_text(encoding="utf-8")
        assert "import" not in text
        assert "http" not in text


@pytest.mark.parametrize(
    ("column", "dtype"),
    [("datumPoslednejUpravy", pl.String), ("kraj", pl.Int64), ("sidlo", pl.Int64)],
)
def test_an_explorer_refuses_columns_of_another_type(column: str, dtype: type[pl.DataType]) -> None:
    """A saved file that is read again has days as texts, and codes as numbers."""
    units = first_units().with_columns(pl.lit(None, dtype).alias(column))

    with pytest.raises(fk.UsageError, match=f"^units: the column '{column}' is {dtype.__name__}"):
        fk.Explorer(units, register=SAMPLE)


@pytest.mark.parametrize(
    ("column", "dtype"),
    [("id", pl.String), ("ico", pl.Int64), ("nazovUJ", pl.Int64), ("mesto", pl.Int64)],
)
def test_a_viewer_refuses_columns_of_another_type(column: str, dtype: type[pl.DataType]) -> None:
    """Of the records that it lists and searches."""
    units = first_units().with_columns(pl.lit(None, dtype).alias(column))

    with pytest.raises(fk.UsageError, match=f"^units: the column '{column}' is {dtype.__name__}"):
        fk.StatementViewer(units, register=SAMPLE)


def test_filters_refuse_columns_of_another_type() -> None:
    """A text is not compared with a day, nor a number with a code; categories are texts."""
    change, location = fk.ChangePicker(register=SAMPLE), fk.LocationPicker(register=SAMPLE)
    change.value, location.value = "2026-06-01", "SK031"

    with pytest.raises(fk.UsageError, match=r"'datumPoslednejUpravy' is String.*give it as Date"):
        change.filter(first_units().lazy().cast({"datumPoslednejUpravy": pl.String}))
    with pytest.raises(fk.UsageError, match=r"'kraj' is Int64.*give it as String"):
        location.filter(first_units().with_columns(kraj=pl.lit(31, pl.Int64)))
    categories = first_units().cast({"kraj": pl.Categorical})
    assert location.filter(categories)["id"].equals(location.filter(first_units())["id"])
