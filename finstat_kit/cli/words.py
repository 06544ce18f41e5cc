"""Errors in the words of the command: options instead of arguments, commands instead of calls."""

from __future__ import annotations

import shlex

import click

from finstat_kit.errors import Either, Interrupted, RegisterError, Words

# Arguments of the library that have another name here.
_RENAMED = {"base_url": "--url", "register": "--url", "ids": "ID", "path": "FOLDER"}


class _Shell(Words):
    def __init__(self, group: click.Group) -> None:
        self._names = dict(_RENAMED)
        for command in group.commands.values():
            for parameter in command.params:
                option = isinstance(parameter, click.Option)
                self._names[parameter.name or ""] = (
                    parameter.opts[0] if option else parameter.human_readable_name
                )

    def argument(self, name: str, value: object = ...) -> str:
        word = self._names.get(name.partition("[")[0])  # ids[3] is the fourth of them
        shown = "" if value is ... else shlex.quote(str(value))
        # A name that is not an argument of the command is a variable of the environment.
        return f"{name}={shown}" if word is None and shown else f"{word or name} {shown}".rstrip()

    def phrase(self, phrase: str | Either) -> str:
        return phrase.shell if isinstance(phrase, Either) else phrase


def worded(error: RegisterError | Interrupted, group: click.Group) -> str:
    """Return the text of an error in the words of a group of commands."""
    return error.text(_Shell(group))
