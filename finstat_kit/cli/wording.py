"""Messages of the library, which name Python arguments and calls, reworded for the shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

_TEXT: Final = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
# Arguments of the library that are options of the command.
_OPTIONS: Final = (
    "changed_since", "after_id", "limit", "max_requests", "max_missing", "budget", "host", "port",
    "units", "cache",
)  # fmt: skip


def worded(text: str) -> str:
    """Return a message of the library with command-line options in place of arguments.

    >>> worded("changed_since='1.7.2026' is not a valid date; give 'YYYY-MM-DD' or a datetime.date")
    '--changed-since 1.7.2026 is not a valid date; give YYYY-MM-DD, or -30d for the last 30 days'
    >>> worded("resume with after_id=5")
    'resume with --after-id 5'
    """
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def _walk(match: re.Match[str]) -> str:
    collection = match[1].replace("_", "-")
    chosen = "" if collection == "units" else f" --collection {collection}"
    return f"finstat-kit ids{chosen} {match[2].replace(', ', ' ')}"


def _option(match: re.Match[str]) -> str:
    name = match[1].replace("_", "-")
    value = match[2]
    if value is None:
        return f"--{name} N"
    if value[0] in "'\"":
        return f"--{name} {_quoted(value)}"
    return f"--{name} {value.replace(',', '')}"


def _output(match: re.Match[str]) -> str:
    return f"--output {_quoted(match[1])}"


def _quoted(literal: str) -> str:
    """Return a Python literal quoted for a shell.

    Escaped characters stay as they are.
    """
    return literal if "\\" in literal else shlex.quote(literal[1:-1])


_Rule = tuple[str, str | Callable[[re.Match[str]], str]]
_WRITTEN: Final[tuple[_Rule, ...]] = (
    # Registers to choose from.
    (
        rf"register={_TEXT} is not a register; give a URL, or one of",
        r"--url \1: give a URL, or one of",
    ),
    (r"fk\.use\(fk\.sample\(\)\) +#", "--sample  #"),
    (r"fk\.use\(fk\.LIVE\) +#", "--live    #"),
    (r"fk\.use\('mirror:([^\n']*)'\) +#", r"--mirror \1  #"),
    (r"'mirror:([^\n']*)':", r"--mirror \1:"),
    (r"register='mirror:([^\n']*)' is a URL", r"--mirror \1 is a URL"),
    (rf"fk\.Mirror\({_TEXT}, register=fk\.LIVE\)\.sync\(\)", r"finstat-kit sync \1 --live"),
    (rf"fk\.use\(fk\.LIVE, cache={_TEXT}\)", r"--live --cache \1"),
    (rf"fk\.use\('sample', cache={_TEXT}\)", r"--sample --cache \1"),
    (rf"fk\.use\({_TEXT}, cache={_TEXT}\)", r"--url \1 --cache \2"),
    (r"base_url=", "--url "),
    (r"base_url:", "--url:"),
    # Mirrors.
    (rf"fk\.Mirror\({_TEXT}\)\.sync\(\)", r"finstat-kit sync \1"),
    (r"keep a mirror \(fk\.Mirror\), which", "keep a mirror (finstat-kit sync FOLDER), which"),
    (r"; give register= or another folder", "; give its register or another folder"),
    (r"\bsync\(full=True, max_missing=(\d+)\)", r"--full --max-missing \1"),
    (r"\b(?:mirror\.)?sync\(full=True\)", "sync --full"),
    (r"\b(?:mirror\.)?sync\(\)", "sync"),
    (r"\b(?:mirror\.)?verify\(\)", "mirror --verify"),
    (r"\b(?:mirror\.)?compact\(\)", "mirror --compact"),
    # Files and columns.
    (rf"path={_TEXT}(?= cannot be written)", _output),
    (rf"path={_TEXT}", r"FOLDER \1"),
    (r"; name others by columns=", ""),
    (r" by frame\.unnest\([^;]*\), or write", ", or write"),
    (r"; (?:[^;]* )?(?:by )?\.(?:list|bin)\.[^;]*, or write", "; write"),
    # Values.
    (r"; the others are in \.partial of this error, or give errors=\"keep\"", ""),
    (r"; the rows fetched so far are in \.partial of this error", ""),
    (r"'YYYY-MM-DD' or a datetime\.date", "YYYY-MM-DD, or -30d for the last 30 days"),
    (r" \(\.today of the register\)", ""),
    (r"; leave out changed_since\b", "; leave out --changed-since"),
    (r"\btext=", "TEXT "),
    (r"\bids\[\d+\]=", "ID "),
    (r"\bfk\.(\w+)\.ids\(([^)]*)\)", _walk),
    # Last: the rules above match some of these by their Python names.
    (rf"(?<![\w'\"])({'|'.join(_OPTIONS)})=({_TEXT}|-?\d[\d,]*(?<!,))?", _option),
)
_RULES: Final = tuple((re.compile(pattern), replacement) for pattern, replacement in _WRITTEN)
