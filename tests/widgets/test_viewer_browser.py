"""The viewer of statements by mouse and keyboard, in a real JupyterLab.

FINSTAT_KIT_SCREENSHOTS=folder keeps pictures.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

import finstat_kit as fk
from tests.support import lab
from tests.widgets.conftest import Served
from tests.widgets.test_themes import faint

pytestmark = pytest.mark.slow

CELL = """
import finstat_kit as fk
fk.use(fk.sample())
viewer = fk.StatementViewer(fk.units.get(fk.units.ids(limit=300)))
viewer
"""
SEARCH = "fk.StatementViewer(lang='en')"
FORM = "fk.as_filed(fk.reports.get([4938873]), lang='en')"
UNIT, EARLIER, LATER = 365, 3184376, 3392981


@pytest.fixture(scope="module")
def opened(browser: Browser, jupyterlab: Served) -> Iterator[lab.Notebook]:
    with lab.notebook(browser, *jupyterlab, "viewer", [CELL, FORM, SEARCH]) as shown:
        yield shown


def rows(cell: Locator) -> int:
    return cell.locator(".fk-panel .fk-filed tbody tr").count()


def test_the_viewer_is_read_by_keyboard_and_mouse(opened: lab.Notebook) -> None:
    """An IČO in groups, or without zeros, finds the unit; years, rows and languages follow keys."""
    page, cell = opened.page, opened.cell(0)
    unit = cell.get_by_role("combobox", name="Jednotka")
    year = cell.get_by_role("combobox", name="Rok")

    listed = page.locator("ul[role=listbox]:popover-open")
    unit.fill("372 491")
    expect(listed).to_contain_text("Skúška Orol 510, s. r. o.00372491 · Zlaté Moravce")
    unit.fill("")
    page.keyboard.type("003 724 91")
    expect(listed.get_by_role("option")).to_have_count(1)
    expect(listed).to_contain_text("Skúška Orol 510, s. r. o.00372491 · Zlaté Moravce")
    opened.photograph("1-typing")
    page.keyboard.press("Enter")
    panel = cell.locator(".fk-panel")
    expect(panel).to_contain_text("IČO 00372491")
    expect(unit).to_have_value("Skúška Orol 510, s. r. o.")
    expect(year.locator("option")).to_have_count(7)
    filed = fk.sample().filings([UNIT])
    expect(panel).to_contain_text(f"Závierka {filed['statement_id'][-1]}")

    page.keyboard.press("Tab")
    expect(year).to_be_focused()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(panel).to_contain_text(f"Nahrádza skôr podanú závierku {EARLIER}.")
    opened.photograph("2-form", 0)
    page.keyboard.press("ArrowDown")
    expect(panel).to_contain_text(f"Nahradila ju neskôr podaná závierka {LATER}.")
    opened.photograph("3-superseded", 0)
    page.keyboard.press("ArrowUp")
    expect(panel).to_contain_text(f"Nahrádza skôr podanú závierku {EARLIER}.")

    filled = rows(cell)
    blanks = cell.get_by_role("checkbox", name="Aj prázdne riadky")
    blanks.focus()
    page.keyboard.press("Space")
    expect(blanks).to_be_checked()
    expect(cell.locator(".fk-panel .fk-filed tbody tr").nth(filled)).to_be_attached()
    blanks.click()
    expect(cell.locator(".fk-panel .fk-filed tbody tr")).to_have_count(filled)

    cell.get_by_role("combobox", name="Jazyk").select_option("English")
    expect(panel).to_contain_text(f"Supersedes statement {EARLIER}, filed earlier.")
    expect(cell.get_by_role("combobox", name="Unit")).to_have_value("Skúška Orol 510, s. r. o.")
    cell.get_by_role("checkbox", name="Blank rows too").click()
    table = cell.get_by_role("region", name="Assets")
    expect(table.locator("tbody tr")).to_have_count(78)
    table.focus()
    top = table.locator("thead").bounding_box()
    page.keyboard.press("PageDown")
    page.wait_for_function("one => one.scrollTop > 0", arg=table.element_handle())
    assert table.locator("thead").bounding_box() == top  # the head stays
    page.keyboard.press("Home")
    page.wait_for_function("one => one.scrollTop === 0", arg=table.element_handle())
    opened.photograph("4-english", 0)
    folded = cell.get_by_role("region", name="Income statement")
    expect(folded).to_be_hidden()
    cell.locator(".fk-panel summary", has_text="Income statement").focus()
    page.keyboard.press("Enter")
    expect(folded).to_be_visible()

    cell.get_by_role("tab", name="Statement").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    history = cell.locator(".fk-history")
    expect(history.locator("thead th").first).to_have_text("2014")
    cell.get_by_role("combobox", name="Table").select_option("Balance sheet")
    expect(history.locator("summary").nth(1)).to_contain_text("Liabilities and equity")
    opened.photograph("6-years", 0)
    cell.get_by_role("tab", name="Statement").click()
    expect(panel).to_be_visible()


@pytest.mark.parametrize("width", [1400, 700])
def test_a_form_in_a_cell_has_wide_captions_and_narrow_numbers(
    opened: lab.Notebook, width: int
) -> None:
    """JupyterLab's rules for tables, columns of one width and grey rows, do not apply."""
    opened.page.set_viewport_size({"width": width, "height": 1000})
    row = opened.cell(1).locator(".fk-filed tbody tr").nth(3)

    number, mark, figure = (row.locator("td").nth(n).bounding_box() for n in (0, 1, 2))
    caption = row.locator("th").bounding_box()

    assert number is not None
    assert mark is not None
    assert figure is not None
    assert caption is not None
    assert number["width"] < 45
    assert mark["width"] < 75
    assert caption["width"] > 2 * figure["width"]
    assert row.evaluate("one => getComputedStyle(one).backgroundColor") == "rgba(0, 0, 0, 0)"
    assert row.locator("td").last.evaluate("one => getComputedStyle(one).textAlign") == "right"


def test_without_a_frame_the_register_is_searched(opened: lab.Notebook) -> None:
    """What is typed is searched by the kernel; the best match is first, and Enter chooses it."""
    page, cell = opened.page, opened.cell(2)
    page.set_viewport_size({"width": 1400, "height": 1000})
    lab.set_theme(page, "Dark")
    unit = cell.get_by_role("combobox", name="Unit")
    unit.focus()
    listed = page.locator("ul[role=listbox]:popover-open")
    expect(listed).to_have_count(0)

    page.keyboard.type("orol")
    expect(listed.get_by_role("option")).to_have_count(50)
    expect(listed).to_contain_text("… and 636 more, keep typing")
    opened.photograph("7-search")
    page.keyboard.type(" sro skuska 51")
    expect(listed.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(cell.locator(".fk-panel")).to_contain_text("IČO 00372491")
    expect(unit).to_have_value("Skúška Orol 510, s. r. o.")
    assert faint(cell.locator(".fk-picker").first) == []
    opened.photograph("8-found", 2)

    unit.fill("xyz")
    expect(listed).to_have_text("Nothing found")
    unit.press("Tab")
    expect(unit).to_have_value("Skúška Orol 510, s. r. o.")
    cell.get_by_role("button", name="Clear the unit").click()
    expect(cell.locator(".fk-panel")).to_be_hidden()
    lab.set_theme(page, "Light")


@pytest.mark.parametrize(
    ("text", "keys"),
    [("skuska orol 510 sro", "Tab"), ("510 sro orol", "Enter Tab")],
)
def test_a_key_pressed_while_the_search_runs_is_not_lost(
    opened: lab.Notebook, text: str, keys: str
) -> None:
    """What is typed and confirmed at once is chosen when the kernel has found it."""
    page, cell = opened.page, opened.cell(2)
    unit, panel = cell.get_by_role("combobox", name="Unit"), cell.locator(".fk-panel")
    unit.fill("")
    unit.press("Enter")
    expect(panel).to_be_hidden()

    unit.focus()
    page.keyboard.type(text)
    for key in keys.split():
        page.keyboard.press(key)

    expect(panel).to_contain_text("IČO 00372491")
    expect(unit).to_have_value("Skúška Orol 510, s. r. o.")
    expect(page.locator("ul[role=listbox]:popover-open")).to_have_count(0)
    unit.focus()
    page.keyboard.type("orol")
    page.keyboard.press("Tab")
    expect(unit).to_have_value("Skúška Orol 510, s. r. o.")  # many match: no choice by Tab
    unit.focus()
    page.keyboard.type("xyz")
    page.keyboard.press("Enter")
    expect(page.locator("ul[role=listbox]:popover-open")).to_have_text("Nothing found")
    page.keyboard.press("Escape")
    expect(unit).to_have_value("Skúška Orol 510, s. r. o.")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_every_text_stands_out(opened: lab.Notebook, theme: str) -> None:
    """Labels, fields, table of years and the form itself, in both themes."""
    cell = opened.cell(0)
    unit = cell.locator(".fk-unit input")
    unit.fill("00372491")
    unit.press("Enter")
    expect(cell.locator(".fk-panel .fk-filed").first).to_be_visible()

    lab.set_theme(opened.page, theme)

    assert faint(cell.locator(".fk-picker").first) == []
    opened.photograph(f"5-{theme}", 0)
    lab.set_theme(opened.page, "Light")
