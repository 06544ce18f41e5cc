"""A page on paper: every number that it has is on it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from shutil import which

import pytest

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.client.sample import Sample
from finstat_kit.frames.reports.filed import Filed
from tests.support.examples import slow
from tests.support.lab import chromium


@cache
def sample() -> Sample:
    return fk.sample()


def page(years: int, lang: Lang) -> Filed:
    """Return the page of a unit, beside its peers."""
    units = sample().units.get(sample().units.ids(limit=300))
    money = sample().financials(units, range(2014, 2020))
    return fk.unit_page(365, years=years, lang=lang, among=money, register=sample())


def history(years: int, lang: Lang) -> Filed:
    return sample().statement(365, years, lang=lang)


def broad(filed: Filed, digits: list[int], lang: Lang) -> Filed:
    """Give each column numbers of so many digits, each another one; add columns that lack."""
    numbers = [
        count(10 ** (number - 1) + place, len(digits)) for place, number in enumerate(digits)
    ]
    sign = "\u00a0" if lang == "sk" else ","

    def cells(values: list[str]) -> list[str]:
        return [
            f"−{next(numbers[place]):,}".replace(",", sign) if values[place % len(values)] else ""
            for place in range(len(digits))
        ]

    return replace(filed, parts=[
        part._replace(
            heads=[part.heads[place % len(part.heads)] for place in range(len(digits))],
            lines=[line._replace(values=cells(line.values)) for line in part.lines],
        )
        for part in filed.parts
    ])  # fmt: skip


def printed(path: Path) -> str:
    """Return the text of a page as Chromium prints it, without blanks."""
    pdf = path.with_suffix(".pdf")
    subprocess.run(
        [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
         f"--print-to-pdf={pdf}", path.as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True)
    return re.sub(r"\s+", "", text.stdout.decode())


@pytest.mark.slow
@pytest.mark.skipif(which("pdftotext") is None, reason="no pdftotext here")
@pytest.mark.parametrize(
    ("make", "digits", "lang"),
    [
        (history, [12] * 10, "sk"),
        *slow(
            (page, [8] * 10, "en"),
            (history, [8] * 10, "en"),
            (history, [12] * 3, "en"),
            (history, [12] * 10 + [3] * 30, "en"),
        ),
    ],
)
def test_nothing_is_cut_off_on_paper(
    make: object, digits: list[int], lang: Lang, tmp_path: Path
) -> None:
    """Of any number of years, with amounts of twelve digits, in both languages."""
    assert callable(make)
    filed = broad(make(10, lang), digits, lang)

    text = printed(filed.to_html(tmp_path / "page.html"))

    values = [value for part in filed.parts for line in part.lines for value in line.values]
    assert len({value for value in values if value}) > 20
    assert [value for value in values if re.sub(r"\s+", "", value) not in text] == []
    heads = {period for part in filed.parts for period, _ in part.heads}
    assert {head for head in heads if head not in text and " " not in head} == set()


def test_columns_of_unequal_breadth_have_room(tmp_path: Path) -> None:
    """Four blocks would have room for all of them, were they equally broad."""
    filed = broad(history(10, "en"), [12] * 10 + [3] * 30, "en")

    rows = re.split("<tr", filed.to_html(tmp_path / "page.html").read_text(encoding="utf-8"))

    assert 3 < max(len(re.findall(r"−1\d\d,\d{3},\d{3},\d{3}", row)) for row in rows) <= 6
