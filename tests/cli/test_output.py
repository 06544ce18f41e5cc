"""What the command writes, to a file or to standard output, and how that can fail."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import finstat_kit as fk
from finstat_kit.cli.output import write_all
from tests.cli.test_commands import COMMAND, called, run
from tests.support.faults import FaultServer, reply


@pytest.mark.parametrize("suffix", ["csv", "ndjson", "parquet", "xlsx"])
def test_output_writes_the_format_of_its_name(tmp_path: Path, suffix: str) -> None:
    """-o writes a file as `fk.write` does."""
    path, written = tmp_path / f"regions.{suffix}", tmp_path / f"w.{suffix}"
    fk.write(fk.sample().regions(), written)

    result = run("codelist", "regions", "--sample", "-o", str(path))

    assert (result.exit_code, result.stdout) == (0, "")
    assert suffix == "xlsx" or path.read_bytes() == written.read_bytes()
    assert path.stat().st_size > 200


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["get", "5", "--collection", "reports", "--output", "r.csv"],
         "the column 'titulnaStrana' holds values of Struct, which csv and xlsx cannot; explode"),
        (["get", "5", "--collection", "reports", "--columns", "id,tabulky", "--output", "r.xlsx"],
         "the column 'tabulky' holds values of List, which csv and xlsx cannot; explode"),
        (["get", "5", "--output", "file/x.csv"],
         "path='file/x.csv' cannot be written (Not a directory); give a name in an existing "
         "folder"),
        (["ids", "-o", "x.odd"], "path='x.odd' has an unknown suffix; give a name that ends in"),
        (["ids", "-o", "."], "path='.' has an unknown suffix"),
        pytest.param(["ids", "--output", "/sys/x.csv"], "path='/sys/x.csv' cannot be written (",
                     marks=pytest.mark.skipif(sys.platform != "linux", reason="/sys is Linux's")),
        (["ids", "--columns", "ico"], "columns: there is no column 'ico'; there are id"),
        (["financials", "5", "--output", "none/x.csv"], "path='none/x.csv' cannot be written"),
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
