"""What a register says cannot steer a terminal; what goes into a pipe or a file stays exact."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.cli.commands import cli
from finstat_kit.cli.output import _fitting, _whole
from finstat_kit.protocol.untrusted import shown
from tests.cli.test_commands import COMMAND
from tests.conftest import Told
from tests.support.faults import FaultServer, reply

if sys.platform == "win32":
    pytest.skip("terminals of Windows are others", allow_module_level=True)

import pty
import termios

# Colours, the title of the window, a line above, C1, marks that turn or hide text, line breaks.
SIGNS = {
    "ESC": "\x1b[31m", "OSC": "\x1b]0;x\x07", "CR": "\r", "BS": "\x08", "DEL": "\x7f",
    "C1": "\x9b31m", "NEL": "\x85", "bidi": "\u202e", "isolate": "\u2066", "zero width": "\u200b",
    "line": "\u2028", "tag": "\U000e0041",
}  # fmt: skip
HOSTILE = "Ruža" + "".join(SIGNS.values()) + "-kraj"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A register whose only region has a hostile name."""
    folder = tmp_path_factory.mktemp("codelists")
    entries = [{"kod": "SK010", "nazov": {"sk": HOSTILE, "en": HOSTILE}}]
    (folder / "kraje.json").write_text(json.dumps({"lokacie": entries}), encoding="utf-8")
    with fk.sample(50, codelists=folder).serve() as url:
        yield url


def on_a_terminal(*arguments: str, columns: int = 500) -> str:
    """Run the command with a terminal for its output; return all that was shown."""
    terminal, end = pty.openpty()
    termios.tcsetwinsize(end, (50, columns))
    # Readline, where it is loaded, puts the width of another terminal into the environment.
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=end, stderr=end, env=env
    ):
        os.close(end)
        seen = b""
        with contextlib.suppress(OSError):  # EIO: nobody writes to it any more
            while part := os.read(terminal, 65_536):
                seen += part
    os.close(terminal)
    return seen.decode(errors="replace").replace("\r\n", "\n")


def harmless(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text)


COMMANDS = {
    "a table": ["codelist", "regions", "--format", "table"],
    "a search": ["find", "ruza", "--format", "table"],
}


@pytest.mark.parametrize("case", COMMANDS)
def test_a_table_is_for_eyes(matrix: Told, url: str, case: str) -> None:
    """A table is for eyes."""
    arguments = [*COMMANDS[case], "--url", url]

    printed = CliRunner().invoke(cli, arguments).stdout

    assert "SK010" in printed
    assert "Ruža" in printed
    matrix(
        f"control characters in {case}", "harmless", "harmless" if harmless(printed) else printed
    )
    assert harmless(printed)
    assert len(printed.splitlines()) == len(printed.split("\n")) - 1


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "csv"])
def test_what_a_terminal_gets_is_harmless(matrix: Told, url: str, form: str) -> None:
    """Whatever is printed on a terminal is harmless there, also data."""
    seen = on_a_terminal("codelist", "regions", "--url", url, "--format", form)

    assert "SK010" in seen
    matrix(f"control characters in {form} on a terminal", True, harmless(seen))
    assert harmless(seen)


@pytest.mark.slow
def test_a_terminal_gets_a_question_mark_for_what_it_cannot_show() -> None:
    """In tables and in lines alike, in the encoding of the terminal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONIOENCODING", "latin-1")
        table = on_a_terminal("codelist", "regions", "--sample")
        lines = on_a_terminal("demo", "--lang", "sk")

    assert "Tren?iansky kraj" in table
    assert "Tren?iansky kraj" in lines


def shown_on(width: int, frame: pl.DataFrame) -> list[str]:
    """Return the lines that a terminal of a width gets of a frame."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        return _fitting(frame).splitlines()


@cache
def figures() -> pl.DataFrame:
    return fk.sample().financials([365])


@pytest.mark.slow
@given(width=st.integers(20, 400))
def test_a_table_is_as_wide_as_the_terminal(width: int) -> None:
    """The columns that fit, and how many there are."""
    lines = shown_on(width, figures())

    borders = [line for line in lines if line.startswith("┌")]
    number = borders[0].count("┬") + 1
    assert max(map(len, lines)) <= max(width, 20)
    assert f"6 rows, {number} of {figures().width} columns" in " ".join(lines)
    assert number == 1 or number > (width - 60) // 45


def test_a_long_text_is_wrapped_and_hides_no_column() -> None:
    """It takes as much room as is left beside the others."""
    frame = pl.DataFrame({"code": ["1", "2"], "name": ["words " * 16, "x"], "more": ["a", "b"]})

    lines = shown_on(60, frame)

    assert max(map(len, lines)) <= 60
    assert lines[0].count("┬") == 2


def test_a_table_in_a_pipe_is_not_cut() -> None:
    """All rows, all letters and digits, all of a list; a terminal has limits."""
    frame = pl.DataFrame(
        {"n": range(300), "money": 1234567890.25, "text": "word " * 60, "ids": [[*range(9)]] * 300}
    )

    lines = _whole(frame).splitlines()

    rows = [[cell.strip() for cell in line.strip("│").split("┆")] for line in lines if "┆" in line]
    ids = ", ".join(map(str, range(9)))
    money, text = "1234567890.25", ("word " * 60).strip()
    assert rows[1:] == [[str(n), money, text, f"[{ids}]"] for n in range(300)]
    assert len(shown_on(500, frame)) < 300


@pytest.mark.slow
def test_a_terminal_gets_the_columns_that_fit() -> None:
    """Whatever the command, and their number."""
    seen = on_a_terminal("get", "210", "365", "--sample", columns=80)

    assert "│ 210 " in seen
    assert "2 rows, 6 of 23 columns; --columns NAME,… chooses others:" in seen


@pytest.mark.slow
def test_chosen_columns_are_shown_and_nothing_else(tmp_path: Path) -> None:
    """In their order, in each format; on a terminal all of them."""
    names = "year,sales,name,reason"
    arguments = ["financials", "365", "--sample", "--columns", names]
    file = tmp_path / "figures.ndjson"

    printed = CliRunner().invoke(cli, arguments).stdout.splitlines()
    CliRunner().invoke(cli, [*arguments, "--output", str(file)])

    assert printed[0] == names
    assert printed[1] == '2014,70173.0,"Skúška Orol 510, s. r. o.",'
    assert list(pl.read_ndjson(file).columns) == names.split(",")
    ids = CliRunner().invoke(cli, ["get", "365", "210", "--sample", "--columns", "id,ico"]).stdout
    assert ids.splitlines() == ["id,ico", "365,00372491", "210,00470439"]


@pytest.mark.parametrize("command", [["get", "1"], ["financials", "1"]])
def test_an_unknown_column_is_refused_before_anything_is_fetched(command: list[str]) -> None:
    """With the near ones; the unit does not exist, which would be the next error."""
    seen = CliRunner().invoke(cli, [*command, "--sample", "--columns", "idd"])

    assert str(seen.exception).startswith("columns: there is no column 'idd'; ")


@pytest.mark.slow
def test_a_pipe_gets_the_data(url: str) -> None:
    """In csv and ndjson that go elsewhere every character is kept."""
    csv = subprocess.run(
        [*COMMAND, "codelist", "regions", "--url", url], capture_output=True
    ).stdout
    ndjson = CliRunner().invoke(cli, ["codelist", "regions", "--url", url, "--format", "ndjson"])

    assert pl.read_csv(io.BytesIO(csv), infer_schema=False)["name_sk"].to_list() == [HOSTILE]
    assert json.loads(ndjson.stdout_bytes)["name_sk"] == HOSTILE


@pytest.mark.slow
def test_messages_are_harmless_whatever_they_repeat(tmp_path: Path) -> None:
    """Errors, whatever they repeat: of the register, of a file, of the command line."""
    broken = tmp_path / "broken\x1b[31m\u202e.csv"
    broken.write_bytes(f"kraj,{HOSTILE}\n1,2,3,4\n".encode())
    folder = tmp_path / "ruz\x1b[31m\u202e"
    folder.mkdir()
    # Delta Lake keeps tables in a folder of this name, and messages name it as it is.
    turned = tmp_path / "ruz\x9b31m\u202e"
    turned.mkdir()
    with FaultServer([reply(HOSTILE.encode(), 400)]) as server:
        said = [
            on_a_terminal(*arguments)
            for arguments in (
                ["count", "--url", server.url],
                ["count", str(broken), "--by", "kraj", "--sample"],
                ["get", HOSTILE, "--sample"],
                [HOSTILE],
                ["mirror", str(folder)],
                ["mirror", str(turned), "--verify"],
                ["codelist", "regions", "--sample", "--output", str(turned / "\x1b[31m.odd")],
            )
        ]

    assert all(len(text) > 20 for text in said)
    assert "Traceback" not in "".join(said)
    assert [text for text in said if not harmless(text)] == []


@pytest.mark.parametrize("sign", SIGNS)
def test_letters_stay_and_unprintable_signs_do_not(sign: str) -> None:
    """Letters of any script stay; blanks become blanks, what is not printable a question mark."""
    assert shown("Ružová\u00a0ulica 1 — «漢字» 😀") == "Ružová ulica 1 — «漢字» 😀"
    assert harmless(shown(SIGNS[sign]))
    assert len(shown(SIGNS[sign])) == len(SIGNS[sign])
    assert len(shown("x" * 300)) == 200
    assert len(shown("x" * 300, None)) == 300
