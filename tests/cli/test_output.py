"""What the command writes, to a file or to standard output, and how that can fail."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from finstat_kit.cli.output import write_all
from tests.cli.test_commands import COMMAND, called, run
from tests.support.faults import FaultServer, reply


@pytest.mark.parametrize("suffix", ["csv", "ndjson", "parquet", "xlsx", "table"])
def test_output_writes_the_format_of_its_name(tmp_path: Path, suffix: str) -> None:
    """--output writes a file, whose name says the format."""
    path = tmp_path / f"regions.{suffix}"

    result = run("codelist", "regions", "--sample", "--output", str(path))

    assert (result.exit_code, result.stdout) == (0, "")
    assert path.stat().st_size > 200


def test_a_suffix_counts_in_any_case(tmp_path: Path) -> None:
    """A suffix counts in any case: the file is one that its program opens right."""
    for name in ("r.CSV", "r.csv"):
        run("codelist", "regions", "--sample", "--output", str(tmp_path / name))

    assert (tmp_path / "r.CSV").read_bytes() == (tmp_path / "r.csv").read_bytes()


def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """Its format is named, and a file that was there stays, whatever it is called."""
    mirror = tmp_path / "m.parquet"
    pl.DataFrame({"kraj": ["SK010"], "s": [{"a": 1}]}).write_parquet(mirror)
    before = tmp_path / "before"
    before.write_text("kept")

    nameless = called("codelist", "regions", "--sample", "--output", str(before))
    refused = called("label", str(mirror), "--sample", "--output", str(before), "--format", "csv")

    assert (nameless.returncode, nameless.stdout) == (2, "")
    assert "give a name that ends in .csv" in nameless.stderr
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the column 's' holds structs" in refused.stderr
    assert before.read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["before", "m.parquet"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none/x.csv", "there is no folder "),
        ("", "--output . cannot be written"),
        ("y" * 252 + ".csv", "--output "),
    ],
)
def test_an_output_that_no_file_can_be_is_refused(tmp_path: Path, name: str, told: str) -> None:
    """One line and exit code 2."""
    output = str(tmp_path / name) if name else ""

    seen = called("codelist", "regions", "--sample", "--output", output, "--format", "csv")

    assert (seen.returncode, seen.stdout, seen.stderr.count("\n")) == (2, "", 1)
    assert seen.stderr.startswith(f"Error: {told}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["get", "5", "--collection", "reports", "--output", "r.csv"],
         "the column 'titulnaStrana' holds structs, which csv and xlsx cannot; write parquet or "
         "ndjson"),
        (["get", "5", "--collection", "reports", "--columns", "id,tabulky", "--output", "r.xlsx"],
         "the column 'tabulky' holds lists of List, which csv and xlsx cannot; write parquet or "
         "ndjson"),
        (["get", "5", "--output", "file/x.csv"],
         "--output file/x.csv cannot be written (Not a directory); give a name in an existing "
         "folder"),
        pytest.param(["ids", "--output", "/sys/x.csv"], "--output /sys/x.csv cannot be written (",
                     marks=pytest.mark.skipif(sys.platform != "linux", reason="/sys is Linux's")),
        (["ids", "--columns", "ico"], "--columns: there is no column 'ico'; there are id"),
        (["count", "--by", "kraj", "--columns", "ico"], "--columns: there is no column 'ico'; "),
        (["financials", "5", "--output", "none/x.csv"], "there is no folder 'none'; create it"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_before_any_request(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours of requests would be lost; a file that is there stays as it is."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("kept")
    with FaultServer([reply(b"", 400)]) as server:
        seen = called(*arguments, "--url", server.url)

    assert (seen.returncode, seen.stdout, server.asked) == (2, "", [])
    assert seen.stderr.startswith(f"Error: {told}")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "kept")]


@pytest.mark.slow
def test_a_standard_output_that_takes_nothing_is_an_error(tmp_path: Path) -> None:
    """Closed or full, it is told in one line, and exit code 1 says that the result is not whole."""
    line = f"{' '.join(map(shlex.quote, COMMAND))} codelist municipalities --sample"
    # So short that all of it waits in a buffer, which Python flushes once more at exit.
    short = line.replace("municipalities", "districts")
    full = shlex.quote(str(tmp_path / "full"))

    for command, said in [
        (f"ulimit -f 1; {short} > {full}", "Error: File too large\n"),
        (f"{line} >&-", "Error: standard output is closed; send it to a file or a pipe\n"),
        (f"{short} --output={full}.xlsx >&-", ""),
        # Unbuffered, a write to a full disk may take a part and say nothing.
        (f"ulimit -f 1; PYTHONUNBUFFERED=1 {line} > {full}", "Error: File too large\n"),
        (
            f"ulimit -f 1; {line} --output {full}.csv",
            f"Error: {full}.csv cannot be written: File too large; free some space, close it where "
            "it is open, or give another folder\n",
        ),
    ]:
        seen = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
        assert (seen.returncode, seen.stdout, seen.stderr) == (int(said != ""), "", said)
    assert (tmp_path / "full.xlsx").stat().st_size > 200


def test_a_write_that_returns_early_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """A raw stream may take less than it is given; nothing is left out then."""

    class Narrow(io.RawIOBase):
        taken = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            part = bytes(data[:3])
            self.taken += part
            return len(part)

    narrow = Narrow()
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(buffer=narrow))
    write_all(b"0123456789")
    monkeypatch.undo()

    assert narrow.taken == b"0123456789"


def test_help_answers_at_once() -> None:
    """Neither polars nor an HTTP library is loaded for it."""
    script = (
        "import sys\n"
        "from finstat_kit.cli.commands import cli\n"
        "cli(['sync', '--help'], standalone_mode=False)\n"
        "print([name for name in ('polars', 'numpy', 'httpx') if name in sys.modules])"
    )

    seen = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert seen.stdout.startswith("Usage:")
    assert seen.stdout.endswith("[]\n")
