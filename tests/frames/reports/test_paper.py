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


def broad(filed: Filed, digits: int, lang: Lang) -> Filed:
    """Give each number so many digits, each another one."""
    numbers = count(10 ** (digits - 1) + 1, 7 * 10 ** (digits - 6))
    sign = "\u00a0" if lang == "sk" else ","

    def number(value: str) -> str:
        return f"−{next(numbers):,}".replace(",", sign) if value else value

    return replace(filed, parts=[
        part._replace(lines=[line._replace(values=[number(value) for value in line.values])
                             for line in part.lines])
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
    ("make", "years", "digits", "lang"),
    [
        (history, 10, 12, "sk"),
        *slow((page, 10, 8, "en"), (history, 10, 8, "en"), (history, 3, 12, "en")),
    ],
)
def test_nothing_is_cut_off_on_paper(
    make: object, years: int, digits: int, lang: Lang, tmp_path: Path
) -> None:
    """Of any number of years, with amounts of twelve digits, in both languages."""
    assert callable(make)
    filed = broad(make(years, lang), digits, lang)

    text = printed(filed.to_html(tmp_path / "page.html"))

    values = [value for part in filed.parts for line in part.lines for value in line.values]
    assert len({value for value in values if value}) > 20
    assert [value for value in values if re.sub(r"\s+", "", value) not in text] == []
    heads = {period for part in filed.parts for period, _ in part.heads}
    assert {head for head in heads if head not in text and " " not in head} == set()
