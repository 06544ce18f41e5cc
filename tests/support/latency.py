"""A sample served with latency: replies overtake each other, as those of a real register do."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
from collections.abc import Iterator

import uvicorn

from finstat_kit.client.sample import Sample
from finstat_kit.service.http.server import Message, Receive, Scope, Send, app_of


@contextlib.contextmanager
def late(sample: Sample, longest: float) -> Iterator[str]:
    """Serve a sample; each reply waits for a random time of at most *longest* seconds."""
    app = app_of(sample._answer)
    drawn = random.Random(0)

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                await asyncio.sleep(drawn.uniform(0, longest))
            await send(message)

        await app(scope, receive, sent)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(waiting, lifespan="off", log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
