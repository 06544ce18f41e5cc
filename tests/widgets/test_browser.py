"""The pickers by mouse and keyboard, in a real JupyterLab.

FINSTAT_KIT_SCREENSHOTS=folder keeps pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import finstat_kit as fk
from finstat_kit.arguments import By
from finstat_kit.frames.text.number_format import whole
from tests.support import lab
from tests.widgets.conftest import Served

EXPLORER = """
import finstat_kit as fk
from finstat_kit.arguments import By
fk.use(fk.sample(4_000))
explorer = fk.Explorer()
explorer
"""
FULL_SIZE = "fk.LocationPicker(register=fk.sample(units=10, codelists={!r}))"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def opened(browser: Browser, jupyterlab: Served, full_size: Path) -> Iterator[lab.Notebook]:
    """A notebook whose callbacks run on another thread than its cells."""
    cells = [EXPLORER, FULL_SIZE.format(str(full_size)), "fk.ChangePicker(lang='en')"]
    with lab.notebook(browser, *jupyterlab, "pickers", cells) as shown:
        yield shown


@pytest.fixture(scope="module")
def units() -> pl.DataFrame:
    register = fk.sample(4_000)
    return register.units.get(register.units.ids())


def counts(units: pl.DataFrame, by: By, lang: fk.arguments.Lang = "sk") -> list[list[str]]:
    """Return code and count of each row that the table has to show."""
    frame = fk.sample().count_by(units, by, lang=lang)
    return [[row["code"] or "", whole(row["count"], lang)] for row in frame.iter_rows(named=True)]


def shows_counts(cell: Locator, expected: list[list[str]]) -> None:
    """Wait until a table has as many rows, and compare these."""
    rows = cell.locator(".fk-panel tbody tr")
    expect(rows).to_have_count(len(expected))
    shown = "rows => rows.map(row => [row.cells[1].textContent, row.cells[2].textContent])"
    assert rows.evaluate_all(shown) == expected


def options(page: Page, control: Locator) -> list[str]:
    """Open the list of a field, return the names in it, and close it."""
    control.focus()
    control.press("ArrowDown")
    found: list[str] = (
        offered(page)
        .get_by_role("option")
        .evaluate_all("all => all.map(one => one.firstChild.textContent)")
    )
    control.press("Escape")
    return found


def offered(page: Page) -> Locator:
    return page.locator("ul[role=listbox]:popover-open")


def test_the_explorer_follows_mouse_and_keyboard(opened: lab.Notebook, units: pl.DataFrame) -> None:
    """Options, map and table follow each action."""
    page, cell = opened.page, opened.cell(0)
    region = cell.get_by_role("combobox", name="Kraj")
    district = cell.get_by_role("combobox", name="Okres")
    lab.until_drawn(cell, "Jednotky podľa krajov")
    opened.photograph("1-opened", 0)
    cell.get_by_role("button", name="Tabuľka").press("Enter")
    expect(cell.locator(".fk-tilemap [data-code]")).to_have_count(0)
    shows_counts(cell, counts(units, "kraj"))
    assert options(page, region)[-3:] == [
        "Žilinský kraj",
        "Zahraničie (SKZZ)",
        "Zahraničie (SKZZZ)",
    ]
    assert len(options(page, district)) == 79
    expect(region).to_have_attribute("placeholder", "Všetky kraje")

    region.click()
    offered(page).get_by_role("option", name="Žilinský kraj").click()
    lab.until_drawn(cell, "Žilinský kraj: jednotky podľa okresov")
    opened.photograph("2-region", 0)
    here = units.filter(pl.col("kraj") == "SK031")
    shows_counts(cell, counts(here, "okres"))
    assert options(page, district)[:3] == ["Bytča", "Čadca", "Dolný Kubín"]
    assert len(options(page, district)) == 11

    district.focus()
    page.keyboard.type("Mar")
    page.keyboard.press("Tab")
    lab.until_drawn(cell, "Martin: jednotky podľa obcí")
    here = units.filter(pl.col("okres") == "SK0316")
    shows_counts(cell, counts(here, "sidlo"))

    municipality = cell.get_by_role("combobox", name="Obec")
    expect(municipality).to_be_focused()
    page.keyboard.type("ziar")
    first = offered(page).get_by_role("option").first
    expect(first).to_have_text("Žiar nad Hronomokres Žiar nad Hronom")
    expect(first).to_have_attribute("aria-selected", "true")
    opened.photograph("3-typing")
    page.keyboard.press("Enter")
    lab.until_drawn(cell, "Žiar nad Hronom: jednotky")
    opened.photograph("4-municipality", 0)
    expect(region).to_have_value("Banskobystrický kraj")
    expect(district).to_have_value("Žiar nad Hronom")
    here = units.filter(pl.col("sidlo") == "SK032D516589")
    shows_counts(cell, counts(here, "sidlo"))

    cell.get_by_role("combobox", name="Jazyk").select_option("English")
    lab.until_drawn(cell, "Žiar nad Hronom: units")
    expect(cell.get_by_role("combobox", name="Municipality")).to_have_value("Žiar nad Hronom")
    cell.get_by_role("combobox", name="Region").fill("brat")
    page.keyboard.press("Enter")
    lab.until_drawn(cell, "Region of Bratislava: units by district")
    opened.photograph("5-english", 0)
    expect(cell.get_by_role("combobox", name="Municipality")).to_have_value("")
    here = units.filter(pl.col("kraj") == "SK010")
    shows_counts(cell, counts(here, "okres", "en"))

    cell.get_by_label("Changed since").fill("2026-06-01")
    expect(cell.locator(".fk-line")).to_contain_text("changed since 1 June 2026")
    expect(cell.locator(".fk-count")).to_contain_text("60 units changed since 1 June 2026")
    here = here.filter(pl.col("datumPoslednejUpravy") >= pl.date(2026, 6, 1))
    shows_counts(cell, counts(here, "okres", "en"))
    opened.photograph("6-day", 0)

    cell.get_by_label("Changed since").fill("2027-01-01")
    expect(cell.locator(".fk-line")).to_contain_text("No unit matches the choice.")
    expect(cell.locator(".fk-panel tr")).to_have_count(0)
    expect(cell.locator(".fk-count")).to_contain_text("is after the register's today")
    cell.get_by_role("button", name="Everything").press("Enter")
    lab.until_drawn(cell, "Region of Bratislava: units by district")

    with page.expect_download() as saved:
        cell.get_by_role("button", name="csv").press("Enter")
    assert saved.value.suggested_filename == "units-SK010.csv"
    read = pl.read_csv(saved.value.path(), infer_schema=False)
    assert read["id"].to_list() == units.filter(kraj="SK010")["id"].cast(str).to_list()
    cell.get_by_role("button", name="Code", exact=True).press("Enter")
    expect(cell.locator(".fk-export pre")).to_contain_text("selection = units.filter(")
    cell.get_by_role("button", name="Copy").click()
    assert page.evaluate("getSelection().toString()").startswith("import finstat_kit as fk")
    opened.photograph("6-code", 0)

    # What the notebook keeps follows the clicks, unseen beside the live controls.
    kept = cell.locator(".fk-kept")
    expect(kept).to_be_hidden()
    expect(kept).to_contain_text("Region of Bratislava: units by district")


def test_callbacks_may_run_on_the_thread_of_the_cells(
    browser: Browser, tmp_path: Path, units: pl.DataFrame
) -> None:
    """Where JupyterLab has no other for them, the table follows all the same."""
    with (
        lab.jupyterlab(tmp_path, commsOverSubshells="disabled") as url,
        lab.notebook(browser, url, tmp_path, "one-thread", [EXPLORER]) as opened,
    ):
        cell = opened.cell(0)
        cell.get_by_role("button", name="Tabuľka").press("Enter")
        cell.get_by_role("combobox", name="Kraj").click()
        offered(opened.page).get_by_role("option", name="Žilinský kraj").click()
        lab.until_drawn(cell, "Žilinský kraj: jednotky podľa okresov")
        shows_counts(cell, counts(units.filter(pl.col("kraj") == "SK031"), "okres"))


@pytest.mark.parametrize("view", ["Map", "Bars", "Table"])
def test_the_explorer_fits_a_screen(opened: lab.Notebook, view: str) -> None:
    """At 1,200 pixels it is at most 620 high: the tallest map, the longest list."""
    page, cell = opened.page, opened.cell(0)
    page.set_viewport_size({"width": 1200, "height": 1400})
    cell.get_by_role("combobox", name=re.compile("Jazyk|Language")).select_option("English")
    cell.get_by_role("button", name="Everything").click()
    cell.get_by_role("button", name=view, exact=True).click()
    for place in ("Region of Žilina", "Region of Bratislava", "Region of Košice"):
        region = cell.get_by_role("combobox", name="Region")
        region.fill(place)
        region.press("Enter")
        lab.until_drawn(cell, f"{place}: units by district")
        box = cell.locator(".fk-picker").first.bounding_box()
        assert box is not None
        assert box["height"] <= 620
    opened.photograph(f"7-{view}", 0)
    page.set_viewport_size({"width": 1280, "height": 1400})


def test_the_type_ahead_finds_all_at_full_size(opened: lab.Notebook) -> None:
    """All of 2,940 municipalities are found, by mouse too, and no key reaches the notebook."""
    page, cell = opened.page, opened.cell(1)
    municipality = cell.get_by_role("combobox", name="Obec")
    cells = page.locator(".jp-Cell").count()

    municipality.click()
    listed = offered(page)
    expect(listed.get_by_role("option")).to_have_count(100)
    expect(listed).to_contain_text("a ešte 2840")
    page.keyboard.type("LEHOTA 7")
    expect(listed.get_by_role("option")).to_have_count(18)
    opened.photograph("7-full-size")
    listed.get_by_role("option").nth(1).click()

    expect(municipality).to_have_value("Lehota 7")
    district = cell.get_by_role("combobox", name="Okres")
    expect(district).not_to_have_value("")
    municipality.fill("bez okresu 3")
    expect(listed).to_contain_text("Inde")
    municipality.press("Enter")
    expect(municipality).to_have_value("Bez okresu 3")
    expect(district).to_have_value("")
    municipality.fill("nikde taká nie je")
    expect(listed).to_have_text("Nič sa nenašlo")
    municipality.press("Escape")
    expect(municipality).to_have_value("Bez okresu 3")
    cell.get_by_role("button", name="Vymazať obec").click()
    expect(municipality).to_have_value("")
    municipality.press("d")
    municipality.press("d")
    municipality.press("Escape")
    assert page.locator(".jp-Cell").count() == cells


def test_a_quick_choice_is_counted(opened: lab.Notebook) -> None:
    """A button sets the calendar, and the line says how many units changed since."""
    cell = opened.cell(2)

    cell.get_by_role("button", name="30 days").click()

    expect(cell.get_by_label("Changed since")).to_have_value("2026-05-31")
    expect(cell.locator(".fk-count")).to_have_text(
        "In the register: 62 units changed since 31 May 2026"
    )
    opened.photograph("8-change", 2)
