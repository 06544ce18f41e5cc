"""The register keeps what its description promises, for whatever schemathesis thinks of asking.

Right requests are accepted, wrong ones refused, every status is one that is described, and bodies
and headers have the form that is described. No other run than ``nox -s contract`` collects it, by
its name: it needs the group ``contract``, and makes its cases while it is collected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis

import finstat_kit as fk
from finstat_kit.protocol.shipped import data_folder
from tests.support.examples import examples

LENIENT = schemathesis.openapi.from_path(data_folder() / "openapi" / "lenient.json")
STRICT = schemathesis.openapi.from_path(data_folder() / "openapi" / "strict.json")
few = examples(60)


def served(*, strict: bool) -> Iterator[str]:
    sample = fk.sample(300, strict=strict)
    ids = sample.units.ids()
    sample.delete(ids[:5])
    sample.hide(ids[5:9])
    sample.publish(30)
    with sample.serve() as url:
        yield url


@pytest.fixture(scope="module")
def lenient() -> Iterator[str]:
    yield from served(strict=False)


@pytest.fixture(scope="module")
def strict() -> Iterator[str]:
    yield from served(strict=True)


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """Connections that stay: most of a request's time went into opening them."""
    with requests.Session() as session:
        session.trust_env = False  # the environment's proxies are none for this machine
        yield session


@LENIENT.parametrize()
@few
def test_the_lenient_register_is_as_described(
    case: schemathesis.Case[Any], lenient: str, session: requests.Session
) -> None:
    """The lenient register is as described."""
    case.call_and_validate(base_url=lenient, session=session)


@STRICT.parametrize()
@few
def test_the_strict_register_is_as_described(
    case: schemathesis.Case[Any], strict: str, session: requests.Session
) -> None:
    """The strict register is as described."""
    case.call_and_validate(base_url=strict, session=session)


@pytest.mark.parametrize(
    ("collection", "endpoint"),
    [
        ("units", "uctovna-jednotka"),
        ("statements", "uctovna-zavierka"),
        ("reports", "uctovny-vykaz"),
        ("annual_reports", "vyrocna-sprava"),
    ],
)
def test_all_records_are_as_described(
    lenient: str, session: requests.Session, collection: str, endpoint: str
) -> None:
    """So are all records: living, deleted and non-public."""
    described = LENIENT[f"/api/{endpoint}"]["GET"]
    with fk.Register(lenient) as reg:
        for id_ in getattr(reg, collection).ids(limit=40)["id"]:
            reply = session.get(f"{lenient}/api/{endpoint}?id={id_}")
            assert described.is_valid_response(reply), reply.text
