"""The pickers in JupyterLab's light and dark theme, in forced colours, and the map by keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support import lab
from tests.widgets.conftest import Served

pytestmark = pytest.mark.slow

CELLS = [
    "import finstat_kit as fk\nfk.use(fk.sample())\nexplorer = fk.Explorer(lang='en')\nexplorer",
    "fk.LocationPicker(lang='en')",
    "fk.ChangePicker(lang='en')",
    "fk.StatementViewer([365, 1362], lang='en')",
]

# The contrast of each text with what lies behind it, by the rule of WCAG 2.
CONTRASTS = """root => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
    const brush = canvas.getContext('2d', { willReadFrequently: true });
    const over = (colours) => {
        brush.clearRect(0, 0, 1, 1);
        for (const colour of colours) {
            brush.fillStyle = colour;
            brush.fillRect(0, 0, 1, 1);
        }
        return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (rgb) => {
        const [r, g, b] = rgb.map((part) => part / 255)
            .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) {
            const tile = at.closest('svg') && at.tagName === 'g' && at.querySelector('rect');
            const style = getComputedStyle(tile || at);
            layers.unshift(tile ? style.fill : style.backgroundColor);
        }
        return layers;
    };
    const found = [];
    const note = (text, colour, element) => {
        const back = behind(element);
        const [one, two] = [light(over(back)), light(over([...back, colour]))];
        const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        found.push([text.trim().slice(0, 30), contrast]);
    };
    for (const element of [root, ...root.querySelectorAll('*')]) {
        if (!element.getClientRects().length || element.closest('title, option')) continue;
        const style = getComputedStyle(element);
        const own = [...element.childNodes].filter((node) => node.nodeType === 3)
            .map((node) => node.data).join('').trim();
        if (own) note(own, element instanceof SVGElement ? style.fill : style.color, element);
        if (element.tagName === 'INPUT' && element.value) note(element.value, style.color, element);
        if (element.placeholder && !element.value) {
            note(element.placeholder, getComputedStyle(element, '::placeholder').color, element);
        }
    }
    return found;
}"""

SELECTED = """() => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style = 'forced-color-adjust: none; background: Highlight';
    const { backgroundColor } = getComputedStyle(probe);
    probe.remove();
    return backgroundColor;
}"""


@pytest.fixture(scope="module")
def opened(browser: Browser, jupyterlab: Served) -> Iterator[lab.Notebook]:
    with lab.notebook(browser, *jupyterlab, "themes", CELLS) as shown:
        yield shown


def faint(shown: Locator) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = shown.evaluate(CONTRASTS)
    assert found
    return [(text, round(contrast, 2)) for text, contrast in found if contrast < 4.5]


def field(opened: lab.Notebook, name: str) -> Locator:
    return opened.cell(0).get_by_role("combobox", name=name)


def tile(opened: lab.Notebook, name: str) -> Locator:
    return opened.cell(0).get_by_role("button", name=name)


def choose_nothing(opened: lab.Notebook) -> None:
    field(opened, "Region").fill("")
    field(opened, "Region").press("Enter")
    lab.until_drawn(opened.cell(0), "Units by region")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_every_text_stands_out(opened: lab.Notebook, theme: str) -> None:
    """Labels, fields, the open list with its marked and pointed options, map, bars and table."""
    lab.set_theme(opened.page, theme)
    cell = opened.cell(0)
    choose_nothing(opened)
    for view in ("Table", "Bars", "Map"):
        tile(opened, view).click()
        expect(cell.locator(".fk-tilemap [data-code]")).to_have_count(8 if view == "Map" else 0)
        assert faint(cell.locator(".fk-picker").first) == []
        opened.photograph(f"9-{theme}-{view}", 0)

    district = field(opened, "District")
    district.focus()
    opened.page.keyboard.type("kos")
    shown = opened.page.locator("ul:popover-open")
    shown.get_by_role("option").nth(2).hover()
    expect(shown.locator("[aria-selected=true]")).to_have_count(1)
    assert faint(shown) == []
    opened.photograph(f"10-{theme}-list")
    opened.page.keyboard.press("Enter")
    lab.until_drawn(cell, "Košice - okolie: units by municipality")
    assert faint(cell.locator(".fk-picker").first) == []
    opened.photograph(f"11-{theme}-district", 0)
    lab.set_theme(opened.page, "Light")


def test_forced_colours_keep_the_mark(opened: lab.Notebook) -> None:
    """The marked option has the system's colours for what is selected, the bars are there."""
    page = opened.page
    choose_nothing(opened)
    page.emulate_media(forced_colors="active")
    field(opened, "District").focus()
    page.keyboard.type("kos")
    looks = "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).outlineStyle]"

    marked, plain = (
        page.locator(f"ul:popover-open li[aria-selected={is_marked}]").first.evaluate(looks)
        for is_marked in ("true", "false")
    )

    assert marked[0] == page.evaluate(SELECTED) != plain[0]
    assert (marked[1], plain[1]) == ("solid", "none")
    page.keyboard.press("Escape")
    tile(opened, "Bars").click()
    bar = opened.cell(0).locator("figure span[style*=border]").first
    assert bar.evaluate("one => one.offsetHeight > 8 && one.offsetWidth > 100")
    edge, page_colour = bar.evaluate(
        "one => [getComputedStyle(one).borderBottomColor, getComputedStyle(document.body).color]"
    )
    assert edge == page_colour  # that of text
    opened.photograph("12-forced", 0)
    tile(opened, "Map").click()
    page.emulate_media(forced_colors="none")


def test_the_map_works_by_keys(opened: lab.Notebook) -> None:
    """Arrows go from tile to tile, Enter chooses, Escape goes up one level; numbers are told."""
    page, cell = opened.page, opened.cell(0)
    choose_nothing(opened)
    hint = cell.locator(".fk-hint")
    expect(hint).to_contain_text("Esc goes up one level")
    cell.get_by_role("button", name="Code", exact=True).focus()
    page.keyboard.press("Tab")
    expect(tile(opened, "Region of Trenčín")).to_be_focused()

    page.keyboard.press("ArrowRight")
    expect(tile(opened, "Region of Žilina")).to_be_focused()
    expect(hint).to_have_text("Region of Žilina: 1,989 units (9.9%)")
    page.keyboard.press("Enter")
    lab.until_drawn(cell, "Region of Žilina: units by district")
    expect(field(opened, "Region")).to_have_value("Region of Žilina")
    expect(tile(opened, "Čadca")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(tile(opened, "Martin")).to_be_focused()
    page.keyboard.press(" ")
    lab.until_drawn(cell, "Martin: units by municipality")
    expect(tile(opened, "Martin")).to_be_focused()
    expect(tile(opened, "Martin")).to_have_attribute("aria-pressed", "true")

    page.keyboard.press("Escape")
    lab.until_drawn(cell, "Region of Žilina: units by district")
    expect(cell.locator("[aria-current]")).to_have_count(0)
    expect(tile(opened, "Martin")).to_be_focused()
    page.keyboard.press("Escape")
    lab.until_drawn(cell, "Units by region")
    expect(tile(opened, "Region of Žilina")).to_be_focused()


def test_the_map_works_by_mouse(opened: lab.Notebook) -> None:
    """Pointing shows the number, a click chooses."""
    cell = opened.cell(0)
    choose_nothing(opened)

    tile(opened, "Region of Košice").hover()
    expect(cell.locator(".fk-hint")).to_contain_text("Region of Košice: 1,624 units")
    tile(opened, "Region of Košice").click()
    lab.until_drawn(cell, "Region of Košice: units by district")
    tile(opened, "Rožňava").click()

    lab.until_drawn(cell, "Rožňava: units by municipality")
    expect(field(opened, "District")).to_have_value("Rožňava")


@pytest.mark.parametrize("number", range(len(CELLS)))
def test_the_buttons_look_alike_and_stand_apart(opened: lab.Notebook, number: int) -> None:
    """One look, pressed or pointed at too; Code is at the same place, apart from what is above."""
    shown = opened.cell(number).locator(".fk-picker").first
    look = """one => {
        const { height, boxShadow, fontFamily, fontSize, borderRadius } = getComputedStyle(one);
        return [height, boxShadow, fontFamily, fontSize, borderRadius].join();
    }"""

    buttons = shown.locator("button.jupyter-button:visible").all()
    looks = set()
    for button in buttons:
        button.hover()
        looks.add(button.evaluate(look))

    assert len(looks) == 1
    assert ",none," in looks.pop()
    code = shown.get_by_role("button", name="Code", exact=True).bounding_box()
    field = shown.locator("input[type=text], input[type=date]").first.bounding_box()
    row = shown.locator(".fk-export").locator("xpath=..")
    start = row.locator("button").first.bounding_box()
    boxes = [one.bounding_box() for one in shown.locator("input, select").all()]
    assert code is not None
    assert field is not None
    assert start is not None
    assert start["x"] == field["x"]
    lowest = max(box["y"] + box["height"] for box in boxes if box and box["y"] < code["y"])
    assert code["y"] - lowest >= 6
    assert all(not box or box["y"] < code["y"] for box in boxes)


def test_the_language_is_that_of_the_box(opened: lab.Notebook) -> None:
    """A screen reader's voice, and the date of a browser that heeds it, follow the choice."""
    shown = opened.cell(0).locator(".fk-picker").first
    expect(shown).to_have_attribute("lang", "en")
    field(opened, "Language").select_option("Slovenčina")
    expect(shown).to_have_attribute("lang", "sk")
    expect(shown.locator(".fk-picker:has(input[type=date])")).to_have_attribute("lang", "sk")
    field(opened, "Jazyk").select_option("English")
    expect(shown).to_have_attribute("lang", "en")


def test_the_map_grows_with_its_cell(opened: lab.Notebook) -> None:
    """The wider the page, the larger the tiles."""
    page = opened.page
    choose_nothing(opened)
    nitra = tile(opened, "Region of Nitra").locator("rect").element_handle()
    for width, least in {400: 50, 700: 110, 1280: 140}.items():
        page.set_viewport_size({"width": width, "height": 1400})
        page.wait_for_function(
            "([rect, least]) => rect.getBoundingClientRect().width > least", arg=[nitra, least]
        )
        opened.photograph(f"14-map-{width}", 0)
    page.set_viewport_size({"width": 1280, "height": 1400})


def test_nothing_sticks_out_of_a_narrow_page(opened: lab.Notebook) -> None:
    """At 400 pixels everything is as wide as the page, and no button is cut off."""
    page, cell = opened.page, opened.cell(0)
    choose_nothing(opened)
    page.set_viewport_size({"width": 400, "height": 1400})

    box = cell.locator(".fk-picker").first
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 1
    for button in cell.locator(".fk-picker button.jupyter-button").all():
        assert button.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
    edge = cell.locator(".jp-Cell-outputArea").evaluate(
        "area => area.getBoundingClientRect().right"
    )
    for control in cell.locator(".fk-picker :is(select, input)").all():
        assert control.evaluate("one => one.getBoundingClientRect().right") <= edge
    opened.photograph("13-narrow", 0)
    page.set_viewport_size({"width": 1280, "height": 1400})


def test_a_tall_picker_is_not_folded_by_the_notebook(opened: lab.Notebook) -> None:
    """Jupyter Notebook 7 marks its page, and scrolls tall outputs; in JupyterLab that is a wish."""
    cell = opened.cell(0)
    cell.evaluate("cell => cell.classList.add('jp-mod-outputsScrolled')")
    area = cell.locator(".jp-Cell-outputArea")
    height = "area => getComputedStyle(area).maxHeight"
    assert area.evaluate(height) != "none"

    opened.page.evaluate("() => { document.body.dataset.notebook = 'notebooks'; }")

    assert area.evaluate(height) == "none"
    opened.page.evaluate("() => { delete document.body.dataset.notebook; }")
    cell.evaluate("cell => cell.classList.remove('jp-mod-outputsScrolled')")
