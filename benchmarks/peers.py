"""The loops that people write today, in their honest form: one session, kept alive."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import httpx
import orjson
import pandas as pd
import polars as pl
import requests
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator

PATH = "/api/uctovne-jednotky"


def parameters(after_id: int, page_size: int) -> dict[str, str | int]:
    """Return the query of one page."""
    return {
        "zmenene-od": "2000-01-01",
        "max-zaznamov": page_size,
        "pokracovat-za-id": after_id,
    }


def with_requests(url: str, page_size: int) -> pd.DataFrame:
    """Walk with requests and json into one list, and that into pandas."""
    ids: list[int] = []
    with requests.Session() as session:
        more = True
        while more:
            after = ids[-1] if ids else 0
            reply = session.get(url + PATH, params=parameters(after, page_size), timeout=30)
            reply.raise_for_status()
            page = json.loads(reply.content)
            ids += page["id"]
            more = page["existujeDalsieId"]
    return pd.DataFrame({"id": ids})


def with_httpx(
    url: str, page_size: int, decode: Callable[[bytes], dict[str, list[int]]] = json.loads
) -> pl.DataFrame:
    """Walk with httpx, a Series a page."""
    pages: list[pl.Series] = []
    with httpx.Client(base_url=url) as client:
        more = True
        while more:
            after = int(pages[-1][-1]) if pages else 0
            reply = client.get(PATH, params=parameters(after, page_size), timeout=30)
            reply.raise_for_status()
            page = decode(reply.content)
            pages.append(pl.Series("id", page["id"], dtype=pl.Int64))
            more = bool(page["existujeDalsieId"])
    return pl.concat(pages).to_frame()


def with_httpx_and_orjson(url: str, page_size: int) -> pl.DataFrame:
    """Walk with httpx and a fast decoder: as fast as httpx's client goes, and no guards."""
    return with_httpx(url, page_size, orjson.loads)


def with_dlt(url: str, page_size: int) -> pd.DataFrame:
    """Walk with dlt's RESTClient and its cursor paginator."""
    client = RESTClient(
        url,
        paginator=JSONResponseCursorPaginator(
            cursor_path="id[-1]",
            cursor_param="pokracovat-za-id",
            has_more_path="existujeDalsieId",
        ),
        data_selector="id",
    )
    ids: list[int] = []
    for page in client.paginate(PATH, params=parameters(0, page_size)):
        ids += page
    return pd.DataFrame({"id": ids})


def records_with_requests(url: str, ids: Sequence[int]) -> pd.DataFrame:
    """Fetch records with requests, one after the other, into pandas."""
    records = []
    with requests.Session() as session:
        for id_ in ids:
            reply = session.get(url + "/api/uctovna-jednotka", params={"id": id_}, timeout=30)
            reply.raise_for_status()
            records.append(json.loads(reply.content))
    return pd.DataFrame(records)
