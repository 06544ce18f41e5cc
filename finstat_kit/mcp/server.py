"""The server: each call in a thread, one after the other, and within its time."""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import wraps
from math import inf
from typing import Annotated, Any, Final

import anyio
from anyio.to_thread import run_sync
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations

import finstat_kit as fk
from finstat_kit.arguments import Lang
from finstat_kit.client.register import Register
from finstat_kit.errors import RegisterError, RegisterWarning
from finstat_kit.mcp.answer import QUOTED, Answer
from finstat_kit.mcp.tools import SECONDS, Tools
from finstat_kit.protocol.untrusted import shown
from finstat_kit.transport.base import Stopped

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


def server(register: Register, lang: Lang, seconds: float = SECONDS) -> MCPServer[Any]:
    """Return a server of a register.

    Args:
        register: The register.
        lang: Language of labels.
        seconds: That a call may take.
    """
    tools = Tools(register, lang)
    made = MCPServer[Any]("finstat-kit", instructions=_INSTRUCTIONS + QUOTED, log_level="WARNING")
    caller = _Caller(register, seconds)
    for tool in (
        tools.find_units, tools.unit, tools.statement, tools.figures, tools.count, tools.sector,
        tools.peers, tools.codes,
    ):  # fmt: skip
        made.add_tool(_bounded(tool, caller), annotations=_READS)
    for name, text in _LISTS.items():
        made.resource(f"finstat-kit://{name}", name=name, mime_type="text/csv")(text)
    return made


class _Caller:
    """Calls tools one after the other; none sends a request after its time.

    Args:
        register: Of the tools.
        seconds: That a call may take.
    """

    def __init__(self, register: Register, seconds: float) -> None:
        self.register, self.seconds = register, seconds
        self.late = ToolError(
            f"this takes more than {seconds:g} s; ask for fewer units or years, use a mirror "
            "(finstat-kit sync, then finstat-kit mcp --mirror PATH), or a notebook"
        )
        self._lock = threading.Lock()

    def end(self) -> float:
        """Return the time, by the clock of the register, at which a call that begins now ends."""
        return self.register._session.exchange.clock() + self.seconds

    def call(
        self, tool: Callable[..., Answer], given: dict[str, Any], end: float
    ) -> Answer | ToolError:
        """Call a tool, in a thread that may be left alone when the time is over.

        Args:
            tool: What is called.
            given: Its arguments.
            end: When its time is over. It may wait for a call before it.
        """
        exchange = self.register._session.exchange
        with self._lock, warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always", RegisterWarning)
            exchange.end = end
            try:
                found = tool(**given)
            except Stopped:
                return self.late
            except RegisterError as error:
                return ToolError(shown(str(error), None))
            finally:
                exchange.end = inf
        found.notes += [str(warning.message) for warning in raised]
        return found


def _bounded(
    tool: Callable[..., Answer], caller: _Caller
) -> Callable[..., Awaitable[CallToolResult]]:
    """Return a tool that runs in a thread, reports its requests, and ends in time."""

    @wraps(tool)
    async def call(ctx: Context[Any, Any], **given: Any) -> CallToolResult:  # noqa: ANN401
        found: Answer | ToolError = caller.late
        async with anyio.create_task_group() as reporting:
            reporting.start_soon(_report, ctx, caller.register)
            with anyio.move_on_after(caller.seconds):
                found = await run_sync(
                    caller.call, tool, given, caller.end(), abandon_on_cancel=True
                )
            reporting.cancel_scope.cancel()
        if isinstance(found, ToolError):
            raise found
        return CallToolResult(
            content=[TextContent(type="text", text=found.text)], structured_content=asdict(found)
        )

    signature = inspect.signature(tool, eval_str=True)
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    parameters = [*signature.parameters.values(), context]
    returned = Annotated[CallToolResult, Answer]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=returned
    )
    call.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": returned}
    return call


async def _report(ctx: Context[Any, Any], register: Register) -> None:
    """Report at once, and then each second, how many requests were sent."""
    before = register.stats.requests
    while True:
        sent = register.stats.requests - before
        await ctx.report_progress(sent, message=f"{sent:,} requests")
        await anyio.sleep(1)
