"""The type-ahead by keyboard in a real JupyterLab: what is typed arrives, however fast."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support import lab
from tests.widgets.conftest import Served

pytestmark = pytest.mark.slow

CELLS = [
    "import finstat_kit as fk\nfk.use(fk.sample())\npicker = fk.LocationPicker()\npicker",
    "fk.LocationPicker(lang='en')",
]
FIELDS = {0: ("Kraj", "Okres", "Obec"), 1: ("Region", "District", "Municipality")}
DISTRICTS = {
    "poprad": ("Poprad", "Prešovský kraj"),
    "hronom ziar": ("Žiar nad Hronom", "Banskobystrický kraj"),
    "banska st": ("Banská Štiavnica", "Banskobystrický kraj"),
    "MARTIN": ("Martin", "Žilinský kraj"),
    "bratislava i": ("Bratislava I", "Bratislavský kraj"),
    "kosice - okolie": ("Košice - okolie", "Košický kraj"),
    "sk0413": ("Kežmarok", "Prešovský kraj"),
}


@pytest.fixture(scope="module")
def opened(browser: Browser, jupyterlab: Served) -> Iterator[lab.Notebook]:
    with lab.notebook(browser, *jupyterlab, "keyboard", CELLS) as shown:
        yield shown


def fields(opened: lab.Notebook, number: int = 0) -> tuple[Locator, Locator, Locator]:
    """Return the three fields of a picker in which nothing is chosen."""
    cell = opened.cell(number)
    region, district, municipality = (
        cell.get_by_role("combobox", name=name) for name in FIELDS[number]
    )
    for field in (municipality, district, region):
        field.fill("")
        field.press("Enter")
    shows(region, district, municipality, names=("", "", ""))
    return region, district, municipality


def shows(*shown: Locator, names: tuple[str, ...]) -> None:
    for field, name in zip(shown, names, strict=True):
        expect(field).to_have_value(name)


def active(page: Page) -> Locator:
    return page.locator("ul:popover-open li[aria-selected=true]")


@pytest.mark.parametrize(("delay", "key"), [(0, "Enter"), (30, "Tab")])
def test_a_district_typed_with_nothing_chosen_is_found(
    opened: lab.Notebook, delay: int, key: str
) -> None:
    """Nothing is chosen on the way, so no list changes under the typist."""
    for typed, names in DISTRICTS.items():
        region, district, municipality = fields(opened)
        district.focus()

        opened.page.keyboard.type(typed, delay=delay)
        expect(region).to_have_value("")
        opened.page.keyboard.press(key)

        shows(district, region, municipality, names=(*names, ""))


@pytest.mark.parametrize("delay", [0, 150])
def test_all_three_levels_are_typed_without_a_pause(opened: lab.Notebook, delay: int) -> None:
    """Each field is narrowed by the one above at once, not when the kernel has answered."""
    keyboard = opened.page.keyboard
    all_fields = fields(opened)
    for typed, names in {
        ("zil", "mart", "martin"): ("Žilinský kraj", "Martin", "Martin"),
        ("trenc", "ban", "ban"): (
            "Trenčiansky kraj", "Bánovce nad Bebravou", "Bánovce nad Bebravou",
        ),
    }.items():  # fmt: skip
        all_fields[0].focus()  # the second time the kernel empties what lies in another region

        for text in typed:
            keyboard.type(text, delay=delay)
            keyboard.press("Tab")

        shows(*all_fields, names=names)


def test_another_district_may_change_the_region(opened: lab.Notebook) -> None:
    """Those of the chosen region come first, the others below: one of them changes the region."""
    page = opened.page
    region, district, municipality = fields(opened)
    region.fill("tren")
    region.press("Tab")
    page.keyboard.type("ban")
    expect(active(page)).to_have_text("Bánovce nad BebravouTrenčiansky kraj")
    page.keyboard.press("Enter")
    shows(region, district, names=("Trenčiansky kraj", "Bánovce nad Bebravou"))

    page.keyboard.type("poprad")
    page.keyboard.press("Tab")

    shows(region, district, names=("Prešovský kraj", "Poprad"))
    expect(municipality).to_be_focused()


def test_the_kernel_does_not_take_the_field_away(opened: lab.Notebook) -> None:
    """What the kernel chooses meanwhile is shown in the other fields; the typist goes on."""
    page = opened.page
    region, district, _ = fields(opened)
    district.fill("martin")
    district.press("Tab")
    shows(region, district, names=("Žilinský kraj", "Martin"))
    district.focus()
    page.keyboard.type("pop")

    page.evaluate(
        "code => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        ".requestExecute({ code }).done.then(() => null)",
        "picker.value = 'SK010'",
    )
    shows(region, district, names=("Bratislavský kraj", "pop"))
    page.keyboard.type("rad")
    page.keyboard.press("Enter")

    shows(region, district, names=("Prešovský kraj", "Poprad"))


def test_tab_leaves_what_is_ambiguous(opened: lab.Notebook) -> None:
    """Several matches are no choice: Tab, Escape and a click elsewhere leave what was chosen."""
    page = opened.page
    region, district, municipality = fields(opened)
    district.fill("martin")
    district.press("Tab")
    shows(region, district, names=("Žilinský kraj", "Martin"))

    ways: list[Callable[[], None]] = [
        lambda: page.keyboard.press("Tab"),
        lambda: page.keyboard.press("Escape"),
        municipality.click,
    ]
    for leave in ways:
        district.focus()
        page.keyboard.type("kosice")
        expect(active(page)).to_contain_text("Košice")
        leave()
        shows(region, district, names=("Žilinský kraj", "Martin"))
    district.fill("")
    municipality.click()
    shows(region, district, names=("Žilinský kraj", "Martin"))
    district.fill("")
    district.press("Tab")
    shows(region, district, names=("Žilinský kraj", ""))


def test_keys_move_the_mark_in_the_open_list(opened: lab.Notebook) -> None:
    """Home, End, PageUp, PageDown and the arrows move the mark; the list opens at the choice."""
    page = opened.page
    _, district, _ = fields(opened)
    district.focus()
    for key, name in {
        "ArrowDown": None, "Home": "Bánovce", "End": "Žilina", "PageUp": "Turčianske Teplice",
        "PageDown": "Žilina", "ArrowUp": "Žiar",
    }.items():  # fmt: skip
        page.keyboard.press(key)
        if name:
            expect(active(page)).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(district).to_have_value("Žiar nad Hronom")

    page.keyboard.press("ArrowDown")

    expect(active(page)).to_contain_text("Žiar nad Hronom")
    page.keyboard.press("Escape")


def test_english_regions_are_found_by_their_own_name(opened: lab.Notebook) -> None:
    """All begin with "Region of": the beginning of any word counts, and goes before the rest."""
    page = opened.page
    region, *_ = fields(opened, 1)
    for typed, name in {"zil": "Žilina", "KOS": "Košice", "n": "Nitra"}.items():
        region.focus()
        page.keyboard.type(typed)
        expect(active(page)).to_have_text(f"Region of {name}")
        page.keyboard.press("Enter")
        expect(region).to_have_value(f"Region of {name}")


def test_what_another_level_has_is_offered_under_its_name(opened: lab.Notebook) -> None:
    """No region is called so: the list says in which field it is, and Enter chooses it there."""
    page = opened.page
    region, district, municipality = fields(opened)
    region.focus()
    page.keyboard.type("ziar")

    listed = page.locator("ul:popover-open")
    expect(listed.locator(".fk-note")).to_have_text(["V poli Okres", "V poli Obec"])
    expect(active(page)).to_have_text("Žiar nad HronomBanskobystrický kraj")
    opened.photograph("1-elsewhere")
    page.keyboard.press("Enter")
    shows(region, district, names=("Banskobystrický kraj", "Žiar nad Hronom"))

    municipality.focus()
    page.keyboard.type("zilinsky")
    expect(listed.locator(".fk-note")).to_have_text("V poli Kraj")
    page.keyboard.press("Tab")
    shows(municipality, names=("",))  # only Enter or a click chooses in another field
    region.focus()
    page.keyboard.type("xyz")
    expect(listed).to_have_text("Nič sa nenašlo")
    page.keyboard.press("Escape")
