"""The server: one call after the other, each in a thread, and none after its time or its caller."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

import finstat_kit as fk
from finstat_kit import arguments
from finstat_kit.arguments import Lang
from finstat_kit.client.register import Register
from finstat_kit.errors import RegisterError, UsageError, hearing, invalid
from finstat_kit.mcp.answer import QUOTED, Answer, Source
from finstat_kit.mcp.tools import SECONDS, Tools
from finstat_kit.protocol.untrusted import shown
from finstat_kit.transport.base import CALLER, Stop, Stopped

log = logging.getLogger("finstat_kit")
_INSTRUCTIONS: Final = (
    "Slovakia's Register of Financial Statements. Amounts are euros. A figure that is null has a "
    "reason beside it and is no zero; name n, the source, and that data are invented where they "
    "are. The lines under python give the same in a notebook. "
)
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_LISTS: Final[dict[str, Callable[[], str]]] = {
    "items": lambda: fk.items().drop("forms").write_csv(),
    "ratios": lambda: fk.ratios().drop("items", "forms").write_csv(),
    "fields": lambda: fk.fields().write_csv(),
}
_GRACE: Final = 1.0  # seconds that the end of the process waits for a call that was left alone
Json = dict[str, Any]


def serve(register: Register, lang: Lang, http: int | None) -> None:
    """Serve a register until the end of input, or at a port until Ctrl-C; then end the process."""
    made = server(register, lang)
    if http is None:
        # As SIGTERM: Python would wait for the thread that reads standard input.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        made.run()
    else:
        with contextlib.suppress(KeyboardInterrupt):
            made.run("streamable-http", port=http)
    made.wait(_GRACE)
    register.close()
    os._exit(0)  # the end of the interpreter would wait for a call that still computes


def server(register: Register, lang: Lang, seconds: float = SECONDS) -> Server:
    """Return a server of a register.

    Args:
        register: The register.
        lang: Language of labels.
        seconds: That a call may take.
    """
    tools = Tools(register, lang)
    made = Server(
        register,
        seconds,
        tools.find_units, tools.unit, tools.statement, tools.figures, tools.count, tools.sector,
        tools.peers, tools.codes,
    )  # fmt: skip
    for name, text in _LISTS.items():
        made.resource(f"finstat-kit://{name}", name=name, mime_type="text/csv")(text)
    return made


class Server(MCPServer[Any]):
    """A server whose calls are checked, refused and answered in the words of this package.

    Args:
        register: Of the tools.
        seconds: That a call may take.
        functions: The tools.
    """

    def __init__(
        self, register: Register, seconds: float, *functions: Callable[..., Answer]
    ) -> None:
        self._tools = {tool.name: tool for tool in map(_tool, functions)}
        super().__init__(
            "finstat-kit",
            version=fk.__version__,
            instructions=_INSTRUCTIONS + QUOTED,
            tools=list(self._tools.values()),
            log_level="WARNING",
        )
        self._register, self._seconds = register, seconds
        self._turn = anyio.Lock()
        self._running: set[threading.Event] = set()  # set when a call has ended

    async def call_tool(
        self, name: str, arguments: Json, context: Context[Any, Any] | None = None
    ) -> CallToolResult:
        """Call a tool, in a thread that is left alone where it is late or cancelled."""
        clock = self._register._session.exchange.clock
        stop = Stop(clock=clock, end=clock() + self._seconds)
        late = (
            f"this takes more than {self._seconds:g} s; ask for fewer units or years, use a mirror "
            "(finstat-kit sync, then finstat-kit mcp --mirror PATH), or a notebook"
        )
        answer: Answer | str = late
        token = CALLER.set(stop)  # for the thread, which takes its context from here
        try:
            call = self._checked(name, arguments)
            async with anyio.create_task_group() as reporting:
                if context is not None:
                    reporting.start_soon(_report, context, self._register)
                with anyio.move_on_after(self._seconds):
                    async with self._turn:
                        work = partial(self._call, call, late)
                        answer = await run_sync(work, abandon_on_cancel=True)
                reporting.cancel_scope.cancel()
        except UsageError as error:
            answer = str(error)
        finally:
            stop.set()
            CALLER.reset(token)
        if isinstance(answer, str):
            return CallToolResult(content=[_text(shown(answer, None))], is_error=True)
        return CallToolResult(
            content=[_text(answer.text)], structured_content=asdict(answer.source)
        )

    def wait(self, seconds: float) -> None:
        """Wait for the calls that were left alone, for some seconds."""
        end = time.monotonic() + seconds
        for ended in list(self._running):
            ended.wait(max(end - time.monotonic(), 0))

    def _call(self, call: Callable[[], Answer], late: str) -> Answer | str:
        """Return the answer of a tool, or its error as a text."""
        ended = threading.Event()
        self._running.add(ended)
        try:
            with hearing() as warnings:
                answer = call()
        except Stopped:
            return late
        except RegisterError as error:
            return str(error)
        except Exception:
            log.exception("a tool of the assistant's failed")
            return "an error of finstat_kit itself; the log of the server has it"
        finally:
            self._running.discard(ended)
            ended.set()
        answer.text = "\n".join([answer.text, *(shown(text, None) for text in warnings)])
        return answer

    def _checked(self, name: str, given: Json) -> Callable[[], Answer]:
        """Return the call of a tool with its arguments.

        Raises:
            UsageError: There is no such tool, or an argument is wrong.
        """
        tool = self._tools.get(name)
        if tool is None:
            cure = f"{arguments.near(name[:80], self._tools)}there are {list(self._tools)}"
            raise UsageError(f"there is no tool {name[:80]!r}", cure=cure)
        known = tool.parameters["properties"]
        for argument in given:
            if argument not in known:
                cure = f"{arguments.near(argument[:80], known)}it takes {list(known)}"
                raise UsageError(f"{name} has no argument {argument[:80]!r}", cure=cure)
        try:
            checked = tool.fn_metadata.validate_arguments(given)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            argument = str(fault["loc"][0])
            allowed = _allowed(known[argument])
            if fault["type"] == "missing":
                cure = f"give {allowed}; it takes {list(known)}"
                raise UsageError(f"{name} needs {argument}", cure=cure) from None
            raise invalid(argument, given[argument], "is not allowed", give=allowed) from None
        for argument, text in _texts(checked):
            if len(text) > arguments.LONGEST_SOUGHT:
                give = f"at most {arguments.LONGEST_SOUGHT}"
                raise invalid(argument, text, f"has {len(text):,} characters", give=give)
        return partial(tool.fn, **checked)


def _tool(function: Callable[..., Answer]) -> Tool:
    """Return a tool whose structured answer is a `Source`."""
    tool = Tool.from_function(function, annotations=_READS, structured_output=False)
    model = tool.fn_metadata.arg_model
    tool.fn_metadata = FuncMetadata(arg_model=model, output_model=Source)
    tool.parameters["additionalProperties"] = False
    return tool


def _texts(given: Json) -> Iterator[tuple[str, str]]:
    """Yield the texts in arguments, with the names of these."""
    for name, value in given.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield name, text


def _allowed(schema: Json) -> str:
    """Return what a JSON schema of an argument allows, in words."""
    if "anyOf" in schema:
        return " or ".join(_allowed(choice) for choice in reversed(schema["anyOf"]))
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return f"one of {schema['enum']}"
    if schema["type"] == "array":
        return f"a list of at most {schema['maxItems']}, each {_allowed(schema['items'])}"
    if schema["type"] == "integer":
        bounds = f", {schema['minimum']} to {schema['maximum']}" if "maximum" in schema else ""
        return f"a whole number{bounds}"
    return {"string": "a text", "null": "null"}[schema["type"]]


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


async def _report(context: Context[Any, Any], register: Register) -> None:
    """Report at once, and then each second, how many requests were sent."""
    before = register.stats.requests
    while True:
        sent = register.stats.requests - before
        await context.report_progress(sent, message=f"{sent:,} requests")
        await anyio.sleep(1)
