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
UNIT, EARLIER, LATER = 365, 3184376, 3392981


@pytest.fixture(scope="module")
def opened(browser: Browser, jupyterlab: Served) -> Iterator[lab.Notebook]:
    with lab.notebook(browser, *jupyterlab, "viewer", [CELL]) as shown:
        yield shown


def rows(cell: Locator) -> int:
    return cell.locator(".fk-filed tbody tr").count()


def test_the_viewer_is_read_by_keyboard_and_mouse(opened: lab.Notebook) -> None:
    """An IČO typed in groups finds the unit; years, rows and languages follow the keys."""
    page, cell = opened.page, opened.cell(0)
    unit = cell.get_by_role("combobox", name="Jednotka")
    year = cell.get_by_role("combobox", name="Rok")

    unit.focus()
    page.keyboard.type("003 724 91")
    listed = page.locator("ul[role=listbox]:popover-open")
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
    expect(cell.locator(".fk-filed tbody tr").nth(filled)).to_be_attached()
    blanks.click()
    expect(cell.locator(".fk-filed tbody tr")).to_have_count(filled)

    cell.get_by_role("combobox", name="Jazyk").select_option("English")
    expect(panel).to_contain_text(f"Supersedes statement {EARLIER}, filed earlier.")
    expect(cell.get_by_role("combobox", name="Unit")).to_have_value("Skúška Orol 510, s. r. o.")
    form = cell.get_by_role("region", name="Reports of the statement")
    form.focus()
    before = form.evaluate("one => one.scrollTop")
    page.keyboard.press("PageDown")
    page.wait_for_function(
        "([one, before]) => one.scrollTop > before", arg=[form.element_handle(), before]
    )
    page.keyboard.press("Home")
    page.wait_for_function("one => one.scrollTop === 0", arg=form.element_handle())
    opened.photograph("4-english", 0)


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_every_text_stands_out(opened: lab.Notebook, theme: str) -> None:
    """Labels, fields, table of years and the form itself, in both themes."""
    cell = opened.cell(0)
    unit = cell.locator(".fk-unit input")
    unit.fill("00372491")
    unit.press("Enter")
    expect(cell.locator(".fk-filed").first).to_be_visible()

    lab.set_theme(opened.page, theme)

    assert faint(cell.locator(".fk-picker").first) == []
    opened.photograph(f"5-{theme}", 0)
    lab.set_theme(opened.page, "Light")
