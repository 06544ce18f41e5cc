"""A certificate for tests, made anew for each: no key lies in the repository, none runs out."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


def certificate(folder: Path, host: str) -> Path:
    """Write a certificate for a host, its key in the same file; return the path."""
    if shutil.which("openssl") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no openssl here")
        pytest.skip("no openssl here")
    path = folder / "certificate.pem"
    public = folder / "public.pem"
    command = "openssl req -x509 -nodes -days 2 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
    name = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    files = ["-keyout", str(path), "-out", str(public)]
    subprocess.run([*command.split(), *name, *files], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + public.read_bytes())
    return path


def server_side(path: Path) -> ssl.SSLContext:
    """Return the context of a server that has a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
