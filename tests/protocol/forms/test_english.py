"""English of forms: the register's where it has some, else the package's translation."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import orjson
import pytest

from finstat_kit.frames.financials.items import item_table
from finstat_kit.protocol import forms
from finstat_kit.protocol.forms import translated_caption
from finstat_kit.protocol.shipped import data_folder, template_bodies
from tests.support import all_forms
from tests.support.scripts import script

OFFICIAL = (699, 690, 684, 727, 696)
# Where 690, 684, 727 and 696 misprint or shorten, and where one term stands for two of theirs.
OTHERWISE = {
    "Goodwill z konsolidácie kapitálu alebo negatívny goodwill z konsolidácie kapitálu (+/-)",
    "Pohľadávky voči zamestnancom (335AÚ) - (391AÚ)",
    "Predaný tovar, Predaná nehnuteľnosť",
    "Tržby za tovar, Výnosy z nehnuteľnosti na predaj",
    "Vydané dlhopisy dlhodobé (473AÚ) - (255AÚ)",
    "Vydané dlhopisy krátkodobé (473AÚ, 241) - (255AÚ)",
    "Výnosy samosprávy z kapitálových transferov od Európskych spoločenstiev",
    "Zákonný rezervný fond (421)",
    "z toho: goodwill",
    "z toho: odložená daňová pohľadávka",
    "z toho: odložený daňový záväzok",
    "z toho: pripadajúci na podiely iných účtovných jednotiek",
    "Úroky",
}
# Where the register's words mean something else in English, or stand beside another for one thing.
REWORDED = {
    "legal": "statutory",
    "accounting for provisions": "clearing of provisions",
    "adjusting entries": "value adjustments",
    "complex deferred expenses": "complex prepaid expenses",
    "control account at association": "control account of an association without legal personality",
    "deficits and damages": "shortages and damage",
    "fixed term transactions": "forward transactions",
    "participants in association": "an association without legal personality",
    "provided advance payments": "operating advance payments made",
    "representation costs": "entertainment expenses",
    "road tax": "motor vehicle tax",
    "shares of other entities": "non-controlling interests (shares of other entities)",
}
SHIPPED = tuple(forms.parse_template(body, id_) for id_, body in template_bodies().items())
# Letters that English has not, whatever their case.
SLOVAK = re.compile("[áäčďéíĺľňóôŕšťúýž]", re.IGNORECASE)


def rows() -> list[list[str]]:
    path = data_folder() / "facts" / "english.tsv"
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def texts(form: forms.Form) -> list[str | None]:
    """Return the English of all that a form prints."""
    return [
        text
        for table in form.tables
        for text in (
            table.name_en,
            *(column.header_en for column in table.columns),
            *(row.label_en for row in table.rows),
        )
    ]


@pytest.fixture(scope="module")
def captions() -> list[dict[str, str]]:
    make: ModuleType = script("make")
    return list(make.facts())


def test_every_row_column_and_table_of_a_shipped_form_has_english() -> None:
    """Of items too; none of it has Slovak letters."""
    english_of = {form.id: texts(form) for form in SHIPPED if form.tables}

    assert len(english_of) == 16
    for id_, written in english_of.items():
        assert None not in written, id_
        assert not [text for text in written if SLOVAK.search(text or "")], id_
    labels = [item.label_en for item in item_table()]
    assert all(labels)
    assert not [label for label in labels if SLOVAK.search(label)]


def test_families_that_are_not_shipped_have_english_too(recorded: Path) -> None:
    """Former forms of businesses, public bodies, non-profits, sole traders, IFRS companies."""
    families = (1, 2, *range(10, 21), 61, 62, 7, 8, 81, 82, 661, 733, 943)

    for template in families:
        form = forms.parse_template(all_forms.body(recorded, template), template)
        assert None not in texts(form), template
        assert form.translated


def test_a_term_has_one_translation() -> None:
    """The file has a row per term, sorted, whatever accounts and sums follow the term."""
    terms = [term for term, _ in rows()]
    keys = [re.sub(r"\W+", " ", term).strip().casefold() for term in terms]

    assert keys == sorted(set(keys))
    assert all(translated_caption(term) == words for term, words in rows())
    assert all(
        translated_caption(f"{term} (r. 1 až r. 2)") == f"{words} (lines 1 to 2)"
        for term, words in rows()
    )
    assert not [words for _, words in rows() if not words.strip() or SLOVAK.search(words)]


def test_terms_are_those_of_the_registers_english(captions: list[dict[str, str]]) -> None:
    """A term of 699 is in its words; one of the public forms in theirs, but for `REWORDED`."""
    official = defaultdict[str, list[tuple[int, str, str]]](list)
    for row in captions:
        if int(row["form"]) in OFFICIAL and translated_caption(row["label_sk"]):
            written = int(row["form"]), row["label_sk"], row["label_en"]
            official[_words(row["label_sk"])].append(written)
    compared = [0, 0]
    for where in official.values():
        of_699 = {_words(written) for form, _, written in where if form == 699}
        wanted = of_699 or {_words(_reworded(written)) for _, _, written in where}
        same = _words(translated_caption(where[0][1]) or "") in wanted
        assert same == OTHERWISE.isdisjoint(caption for _, caption, _ in where), where
        compared[not of_699] += same

    assert compared[0] > 130
    assert compared[1] > 200


def _reworded(caption: str) -> str:
    """Return a caption of a public form in the package's words."""
    for words, others in REWORDED.items():
        caption = caption.lower().replace(words, others)
    return caption


def _words(caption: str) -> str:
    """Return the words of a caption without accounts, rows and what joins them."""
    joining = {
        "total", "line", "lines", "and", "account", "group",
        "súčet", "spolu", "celkom", "mínus", "okrem", "účtová", "skupina",
    }  # fmt: skip
    words = re.findall(r"[^\W\d_]{3,}", caption.lower())
    return " ".join(word for word in words if word not in joining)


@pytest.mark.parametrize(
    ("slovak", "english"),
    [
        ("komplexn.* náklad", "complex prepaid expenses"),
        ("opravn(á|é|ých) polož", "value adjustment"),
        ("samospráv", "local government"),
        ("viazanos", "notice period exceeding one year"),
        ("zákonn(é|ých) (rezerv|opravn|soc)|rezervy zákonn", "statutory"),
        ("podiely iných", "non-controlling interests (shares of other entities)"),
    ],
)
def test_one_thing_has_one_word(slovak: str, english: str) -> None:
    """Wherever the package writes the English of a caption."""
    found = [words.lower() for term, words in rows() if re.search(slovak, term.lower())]

    assert found
    assert not [words for words in found if english not in words]


def test_items_name_local_government_as_captions_do() -> None:
    """Their columns are named after self-government, which is another word for it."""
    labels = [item.label_en for item in item_table() if "_self_government" in item.name]

    assert len(labels) > 5
    assert not [label for label in labels if not label.endswith("local government")]


def test_the_registers_english_wins() -> None:
    """A form that the register has in English keeps it; the translation fills in what it lacks."""
    english_of = {form.id: form.translated for form in SHIPPED if form.tables}
    assert english_of == {id_: id_ not in OFFICIAL for id_ in english_of}
    for form in SHIPPED:
        tables = json.loads(template_bodies()[form.id]).get("tabulky", [])
        sent = [row["text"].get("en") for table in tables for row in table["riadky"]]
        read = [row.label_en for table in form.tables for row in table.rows]
        assert all(own in (None, shown) for own, shown in zip(sent, read, strict=True)), form.id

    captions = [
        {"sk": "Zásoby", "en": "Stock in hand"}, {"sk": "ZÁSOBY", "en": " "},
        {"sk": "zásoby\n (r. 1 až 3)"}, {"sk": "Neznáme zásoby"},
    ]  # fmt: skip
    form = parsed(captions)
    assert [row.label_en for row in form.tables[0].rows] == [
        "Stock in hand", "INVENTORY", "Inventory (lines 1 to 3)", None,
    ]  # fmt: skip
    assert form.translated
    assert not parsed(captions[:1]).translated
    assert not parsed(captions[3:]).translated


def test_sums_are_read_from_slovak_captions() -> None:
    """What English states adds nothing up, be it the register's or the translation."""
    form = parsed([{"sk": "Zásoby", "en": "r. 2 + r. 3"}, {"sk": "Tovar r. 1 + r. 3"}, {"sk": "x"}])

    assert [[term.row for term in row.terms] for row in form.tables[0].rows] == [[], [0, 2], []]


def parsed(captions: list[dict[str, str]]) -> forms.Form:
    """Read a form of some rows."""
    lines = [{"text": text, "cisloRiadku": n} for n, text in enumerate(captions, 1)]
    table = {"pocetStlpcov": 3, "pocetDatovychStlpcov": 1, "hlavicka": None, "riadky": lines}
    return forms.parse_template(orjson.dumps({"id": 5, "tabulky": [table]}), 5)


@pytest.mark.parametrize(
    ("slovak", "translated"),
    [
        ("SPOLU MAJETOK r. 02 + r. 14", "TOTAL ASSETS line 02 + line 14"),
        ("MAJETOK SPOLU r. 001 + r.029", "TOTAL ASSETS line 001 + line 029"),
        ("Majetok celkom (súčet r. 01 až r. 10)", "Assets - total (lines 01 to 10)"),
        ("Náklady na hospodársku činnosť spolu súčet (r. 09 až r. 17)",
         "Operating expenses - total (lines 09 to 17)"),
        ("Účtová trieda 6 celkom súčet (r. 065 + r. 069)",
         "Account class 6 - total (line 065 + line 069)"),
        ("Účtová trieda 5 spolu r. 01 až r. 37", "Account class 5 - total lines 01 to 37"),
        ("Dlhodobé pohľadávky súčet (r. 42 + r. 46 až 52)",
         "Non-current receivables - total (line 42 + lines 46 to 52)"),
        ("Výsledok hospodárenia po zdanení r. 135 mínus (r. 136, r. 137) (+/-)",
         "Profit/loss after tax line 135 - (line 136, line 137) (+/-)"),
        ("Pohľadávky z obchodného styku (311 AÚ až 314 AÚ) - 391AÚ",
         "Trade receivables (311A to 314A) - 391A"),
        ("Záväzky z obchodného styku (321 až 326) okrem 323",
         "Trade liabilities (321 to 326) except 323"),
        ("Základné imanie (411 alebo +/- 491)", "Share capital (411 or +/- 491)"),
        ("Aktivácia (účtová skupina 62)", "Own work capitalized (account group 62)"),
        ("Ostatné zúčtovanie rozpočtu obce a vyššieho územného celku (357)",
         "Other clearing of the budget of municipalities and higher territorial units (357)"),
        ("Opravná položka k nadobudnutému majetku (aktívna)",
         "Value adjustment to acquired assets (debit)"),
        ("Dlhodobé záväzky, z toho:", "Non-current liabilities, of which:"),
        ("Bezprostredne predchádzajúce  účtovné obdobie", "Preceding accounting period"),
        ("Zásoby na ceste (139)", None),
        ("r. 1 + r. 2", None),
        ("", None),
        (None, None),
    ],
)  # fmt: skip
def test_what_follows_a_term(slovak: str | None, translated: str | None) -> None:
    """Rows, accounts and the words between them are written as in the register's English forms."""
    assert translated_caption(slovak) == translated
