"""Requests sent to the byte, and what comes back."""

from __future__ import annotations

import socket


def raw(url: str, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes as they are; return status, headers and body of the answer."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(request)
        data = b""
        while part := connection.recv(65_536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    return int(lines[0].split(" ")[1]), {k.lower(): v for k, v in headers.items()}, body


def get(url: str, target: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    host = url.removeprefix("http://")
    return raw(
        url, f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    )
