"""Which share of mutmut's mutants the tests catch: ``python -m tests.mutants [number]``.

``nox -s mutants`` runs it after ``mutmut run``, whose copy of the tree with all mutants and whose
list of the tests that reach each function it uses. Each mutant runs in a separate process: mutmut
tests them in forks, in which the threads of polars are gone, so that tests of frames never end and
every mutant counts as caught; and what runs at the import of a module is then mutated, too.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

COPY: Final = Path(__file__).parents[1] / "mutants"
_OPTIONS: Final = (
    "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-profile=unshrunk", "-m", "",
)  # fmt: skip
_PATIENCE: Final = 600.0  # seconds; a broken walk may not end
_SEED: Final = 1


def main() -> None:
    """Print the mutants of a random sample that no test catches, and the score."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    stats: dict[str, Any] = json.loads((COPY / "mutmut-stats.json").read_bytes())
    names = [
        name
        for metadata in sorted((COPY / "finstat_kit").rglob("*.meta"))
        for name in json.loads(metadata.read_bytes())["exit_code_by_key"]
    ]
    sample = random.Random(_SEED).sample(names, min(number, len(names)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = Counter(pool.map(lambda name: tried(name, stats), sample))
    reached = results["caught"] + results["survived"]
    print(
        f"{results['caught']} of {reached} mutants are caught ({results['caught'] / reached:.0%}); "
        f"none of these tests reaches {results['unreached']} others"
    )


def tried(mutant: str, stats: dict[str, Any]) -> str:
    """Return whether the tests that reach a mutant catch it."""
    function = re.sub(r"__mutmut_\d+$", "", mutant)
    tests: Sequence[str] = stats["tests_by_mangled_function_name"].get(function, ())
    if not tests:
        return "unreached"
    quick_first = sorted(tests, key=lambda test: stats["duration_by_test"].get(test, 0.0))
    try:
        status = subprocess.run(
            [sys.executable, "-m", "pytest", *_OPTIONS, *quick_first],
            cwd=COPY,
            env={**os.environ, "MUTANT_UNDER_TEST": mutant, "PYTHONPATH": str(COPY)},
            capture_output=True,
            timeout=_PATIENCE,
        ).returncode
    except subprocess.TimeoutExpired:
        return "caught"
    if status == 0:
        print(f"survived: {mutant}", flush=True)
    return "caught" if status else "survived"


if __name__ == "__main__":
    main()
