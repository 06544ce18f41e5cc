"""What a register sends stays text; nothing is run; nobody is told more than was asked."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import finstat_kit as fk
from tests.support.faults import FaultServer, reply

PACKAGE = Path(fk.__file__).parent
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e"


def test_no_arrays_are_read_from_files() -> None:
    """Nothing that is read runs code; ruff refuses eval, pickle and shells."""
    assert not [path for path in PACKAGE.rglob("*.py") if "np.load(" in path.read_text("utf-8")]


def test_scripts_write_no_html() -> None:
    """What the pickers' scripts put on the page is text; the map's markup is parsed apart."""
    scripts = list(PACKAGE.rglob("*.mjs"))

    assert scripts
    for script in scripts:
        code = script.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in code


@pytest.mark.parametrize(
    "answer",
    [
        reply(HOSTILE.encode(), 400),
        reply(HOSTILE.encode(), 500),
        reply(b"<html>" + HOSTILE.encode()),
        reply(HOSTILE.encode()),
        reply(b"", 302, Location="http://x/\x1b[31m"),
        reply(json.dumps({"existujeDalsieId": HOSTILE}).encode()),
        reply(b"", Content_Encoding="\x1b[31m"),
    ],
)
def test_errors_cannot_steer_a_terminal(answer: bytes) -> None:
    """Control characters and marks that turn the text around do not get into messages."""
    with FaultServer([answer]) as server, fk.Register(server.url, tries=1) as reg:
        with pytest.raises(fk.RegisterError) as caught:
            reg.units.ids()

    assert all(c.isprintable() or c == "\n" for c in str(caught.value))


def test_labels_stay_text_in_html(tmp_path: Path) -> None:
    """A hostile name of a region is text in the html of frames."""
    entries = [{"kod": "SK010", "nazov": {"sk": HOSTILE, "en": HOSTILE}}]
    (tmp_path / "kraje.json").write_text(json.dumps({"lokacie": entries}), encoding="utf-8")
    sample = fk.sample(50, codelists=tmp_path)

    frames: list[pl.DataFrame] = [sample.regions(), sample.locations().head(3)]
    shown = "".join(frame._repr_html_() for frame in frames)

    assert HOSTILE in sample.regions()["name_sk"].to_list()
    assert "<img" not in shown


def test_reading_sends_nothing_else() -> None:
    """Only GET leaves the client, with no cookie, credential or body."""
    with FaultServer([reply(b'{"id":[1],"existujeDalsieId":false}')]) as server:
        with fk.Register(server.url) as reg:
            reg.units.ids()

    (headers,) = server.headers
    sent = {line.partition(":")[0].lower() for line in headers.strip().splitlines()}
    assert sent == {"host", "user-agent", "accept", "accept-encoding"}


def test_credentials_in_a_url_are_refused_and_not_repeated() -> None:
    """A password in the base URL would stand in every message and log."""
    with pytest.raises(fk.UsageError) as caught:
        fk.Register("https://me:secret@register.example")

    assert "secret" not in str(caught.value)


def test_the_page_on_security_goes_along() -> None:
    """SECURITY.md is there and part of the source package."""
    root = PACKAGE.parent

    assert (root / "SECURITY.md").is_file()
    assert '"/SECURITY.md"' in (root / "pyproject.toml").read_text(encoding="utf-8")
