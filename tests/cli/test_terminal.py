"""What a register says cannot steer a terminal; what goes into a pipe or a file stays exact."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

import finstat_kit as fk
from finstat_kit.cli.commands import cli
from finstat_kit.cli.output import Output
from finstat_kit.cli.vertical import vertical
from finstat_kit.frames.reports.filed import Filed, as_text
from finstat_kit.protocol.untrusted import shown
from finstat_kit.protocol.wire import BY_FIELD
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
def test_a_table_is_for_eyes(matrix: Told, url: str, tmp_path: Path, case: str) -> None:
    """A table is for eyes, on standard output and in a file."""
    arguments = [*COMMANDS[case], "--url", url]

    printed = CliRunner().invoke(cli, arguments).stdout
    CliRunner().invoke(cli, [*arguments, "--output", str(tmp_path / "t.txt")])
    written = (tmp_path / "t.txt").read_text(encoding="utf-8")

    assert "SK010" in printed
    assert "Ruža" in printed
    assert written == printed
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
        lines = on_a_terminal("demo", "--changed-since", "2026-06-25", "--lang", "sk")

    assert "Tren?iansky kraj" in table
    assert "Tren?iansky kraj" in lines


@pytest.mark.slow
def test_a_record_too_wide_for_the_terminal_stands_upright() -> None:
    """A line per field, with the label of a code; a table where it fits, or has two rows."""
    lines = on_a_terminal("get", "210", "--sample", columns=80).splitlines()
    found = ["find", "Malacky", "--sample", "--level", "municipality"]

    assert lines[:2] == ["id                    210", "ico                   00470439"]
    assert "kraj                  SK010  Bratislavský kraj" in lines
    assert "sid                   –" in lines
    assert len(lines) == 23
    two = on_a_terminal("get", "210", "365", "--sample", columns=80)
    assert "│ 210 " in two
    assert "2 rows, 6 of 23 columns; --wide shows all" in two
    assert "│ municipality ┆ " in on_a_terminal(*found, columns=80)
    assert "level     municipality\n" in on_a_terminal(*found, columns=30)


@pytest.mark.slow
def test_a_statement_is_as_wide_as_the_terminal() -> None:
    """Its captions are wrapped; a pipe gets them as wide as always."""
    over_years = ("statement", "--ico", "00372491", "--years", "4", "--sample", "--lang", "en")

    lines = on_a_terminal(*over_years, columns=80).splitlines()

    assert "─" * 80 in lines
    assert max(map(len, lines)) == 80


@pytest.mark.slow
def test_captions_of_a_form_are_wrapped_to_a_width() -> None:
    """No letter is lost, and numbers keep their room: below captions that could not be read."""
    statement = fk.sample().statement_history(365, 4, lang="en")
    (widest,) = [line for line in str(statement).splitlines() if line.startswith("─")]
    (numbers,) = [line for line in as_text(statement, 10).splitlines() if line.startswith("─")]
    letters = Counter("".join(str(statement).split()).replace("─", ""))

    for width in range(50, 200, 7):
        lines = as_text(statement, width).splitlines()

        (rule,) = [line for line in lines if line.startswith("─")]
        assert max(map(len, lines)) <= max(width, len(numbers))
        assert len(rule) == min(max(width, len(numbers)), len(widest))
        assert Counter("".join("".join(lines).split()).replace("─", "")) == letters


def test_four_columns_of_money_fit_a_terminal() -> None:
    """The balance sheet of a municipality has 80 columns, its numbers below the captions."""
    sample = fk.sample()
    town = sample.units.get(sample.units.ids(legal_form_code="801", limit=1))
    filing = sample.filings(town).filter(year=2019, counts=True)["report_ids"].explode()
    form = sample.as_filed(sample.reports.get(filing), lang="sk")

    lines = as_text(form, 80).splitlines()
    wide = as_text(form).splitlines()

    assert max(map(len, lines)) == 80
    assert max(map(len, wide)) > 80
    total = next(n for n, line in enumerate(lines) if "SPOLU MAJETOK" in line)
    beside = next(line for line in wide if "SPOLU MAJETOK" in line)
    assert len(lines[total + 1]) == 80
    assert lines[total + 1].split() == beside[-len(lines[total + 1].lstrip()) :].split()


def test_long_texts_of_a_statement_keep_to_the_terminal() -> None:
    """Heading, title, names of tables and notes, as no filer is kept from long names."""
    sample = fk.sample()
    form = sample.as_filed(sample.reports.get([1]), lang="en")
    name = " ".join(["Skúška"] * 30)
    part = form.parts[0]._replace(name=name)
    long = Filed(name, [("Unit", name)], [part], [name], "en")

    lines = as_text(long, 80).splitlines()

    assert max(map(len, lines)) == 80
    assert sum(line.count("Skúška") for line in lines) == 4 * 30


def shown_on(width: int, frame: pl.DataFrame, **options: Any) -> list[str]:
    """Return the lines that a terminal of a width gets of a frame."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        return (
            Output("table", None, options.get("columns"), wide="wide" in options)
            ._for_terminal(frame)
            .splitlines()
        )


@cache
def figures() -> pl.DataFrame:
    return fk.sample().financials([365])


@pytest.mark.slow
@given(width=st.integers(20, 400))
def test_a_table_is_as_wide_as_the_terminal(width: int) -> None:
    """The columns that fit, and how many there are; --wide shows all, whatever the width."""
    lines = shown_on(width, figures())

    borders = [line for line in lines if line.startswith("┌")]
    number = borders[0].count("┬") + 1
    assert max(map(len, lines)) <= max(width, 20)
    assert f"6 rows, {number} of {figures().width} columns" in " ".join(lines)
    assert number == 1 or number > (width - 60) // 45
    (whole,) = [line for line in shown_on(width, figures(), wide=True) if line.startswith("┌")]
    assert whole.count("┬") + 1 == figures().width


def test_a_long_text_is_wrapped_and_hides_no_column() -> None:
    """It takes as much room as is left beside the others."""
    frame = pl.DataFrame({"code": ["1", "2"], "name": ["words " * 16, "x"], "more": ["a", "b"]})

    lines = shown_on(60, frame)

    assert max(map(len, lines)) <= 60
    assert lines[1].count("┬") == 2


@pytest.mark.parametrize("where", ["a pipe", "a file"])
def test_a_table_in_a_pipe_or_a_file_is_not_cut(where: str, tmp_path: Path) -> None:
    """All rows, all letters and digits, all of a list; a terminal has limits."""
    frame = pl.DataFrame(
        {"n": range(300), "money": 1234567890.25, "text": "word " * 60, "ids": [[*range(9)]] * 300}
    )
    output = Output("table", tmp_path / "t" if where == "a file" else None, None, wide=False)

    if where == "a file":
        output.write(frame)
        lines = (tmp_path / "t").read_text(encoding="utf-8").splitlines()
    else:
        lines = output.rendered(frame).decode().splitlines()

    rows = [[cell.strip() for cell in line.strip("│").split("┆")] for line in lines if "┆" in line]
    ids = ", ".join(map(str, range(9)))
    money, text = "1234567890.25", ("word " * 60).strip()
    assert rows[1:] == [[str(n), money, text, f"[{ids}]"] for n in range(300)]
    assert len(shown_on(500, frame, wide=True)) < 300


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
    assert shown_on(40, figures()[names.split(",")], columns=names)[1].count("┬") == 3
    ids = CliRunner().invoke(cli, ["get", "365", "210", "--sample", "--columns", "id,ico"]).stdout
    assert ids.splitlines() == ["id,ico", "365,00372491", "210,00470439"]


@pytest.mark.parametrize("command", [["get", "1"], ["financials", "1"]])
def test_an_unknown_column_is_refused_before_anything_is_fetched(command: list[str]) -> None:
    """With the near ones; the unit does not exist, which would be the next error."""
    seen = CliRunner().invoke(cli, [*command, "--sample", "--columns", "idd"])

    assert str(seen.exception).startswith("columns: there is no column 'idd'; ")


@pytest.mark.slow
def test_a_value_upright_cannot_look_like_a_field() -> None:
    """A line break within a value stays within its line."""
    body = json.dumps({"id": 7, "nazovUJ": "A\nico   1\x1b[31m"}).encode()
    with FaultServer([reply(body)]) as server:
        lines = on_a_terminal("get", "7", "--url", server.url, columns=40).splitlines()

    assert len(lines) == 23
    assert "nazovUJ               A ico   1?[31m" in lines


def test_an_upright_record_is_a_harmless_line_per_field() -> None:
    """Names of fields, values and labels alike: none ends its line or steers the terminal."""
    label = BY_FIELD["kraj"].label
    values = {HOSTILE: "x", "nazovUJ": f"{HOSTILE}\nico  1", "kraj": "SK010", label: HOSTILE}

    printed = vertical(pl.DataFrame(values | {"okres": None}))

    name = shown(HOSTILE, None)
    assert harmless(printed)
    fields = [re.split("  +", line) for line in printed.split("\n")]
    assert fields == [
        [name, "x"],
        ["nazovUJ", f"{name} ico", "1"],
        ["kraj", "SK010", name],
        ["okres", "–"],
    ]


def test_an_upright_report_has_the_beginning_of_its_tables() -> None:
    """A record with values within values is a line per field too."""
    report = fk.sample().reports.get(4750175)

    lines = dict(re.split("  +", line, maxsplit=1) for line in vertical(report).splitlines())

    assert list(lines) == report.columns
    assert lines["tabulky"].startswith('[["35341", "3240", ')
    assert len(lines["tabulky"]) == 200
    assert lines["titulnaStrana"].startswith('{"nazovUctovnejJednotky": ')


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
                ["label", str(broken), "--sample"],
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
