"""The description that the register gives of itself, as far as it takes no other tool to check."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import finstat_kit as fk
from finstat_kit.protocol.shipped import data_folder
from finstat_kit.service.filings.store import with_filings
from finstat_kit.service.http import routes
from finstat_kit.service.state import population
from tests.support.scripts import script
from tests.support.wire import get

EMPTY = with_filings(population.draw(0))
RECORDS = {
    "/api/uctovna-jednotka", "/api/uctovna-zavierka", "/api/uctovny-vykaz",
    "/api/vyrocna-sprava", "/api/sablona",
}  # fmt: skip
FILES = {f"/domain/financialreport/{name}/{{id}}" for name in ("attachment", "pdf")}
# A right value of every parameter there is.
RIGHT = {
    "zmenene-od": "2024-01-01",
    "max-zaznamov": "5",
    "pokracovat-za-id": "0",
    "ico": "1",
    "dic": "1",
    "pravna-forma": "112",
    "id": "1",
}


def described(*, strict: bool) -> Any:
    return json.loads(routes.answer(EMPTY, "GET", "/openapi.json", strict=strict).body)


@pytest.mark.parametrize("strict", [False, True])
def test_the_description_is_served(strict: bool) -> None:
    """The same in process and over HTTP, of the API's own version."""
    sample = fk.sample(0, strict=strict)
    with sample.serve() as url:
        status, _, body = get(url, "/openapi.json")

    assert (status, json.loads(body)) == (200, described(strict=strict))
    assert json.loads(body)["openapi"] == "3.1.0"
    assert json.loads(body)["info"]["version"] == "2.5.0"


def test_the_files_are_what_is_made() -> None:
    """data/openapi is what data/make.py would write now."""
    folder = data_folder() / "openapi"

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == script(
        "description"
    ).bodies()


@pytest.mark.parametrize("strict", [False, True])
def test_every_address_is_described(strict: bool) -> None:
    """Every address but the description's own, by GET and HEAD; and no other."""
    paths = described(strict=strict)["paths"]

    assert set(paths) - FILES == set(routes._ROUTES) - {"/openapi.json"}
    for path, operations in paths.items():
        assert set(operations) == {"get", "head"}
        statuses = set(operations["get"]["responses"]) - {"404"}
        assert statuses == {"200", "400", "405", "414"}
        assert ("404" in operations["get"]["responses"]) == (path in RECORDS | FILES)


def test_every_parameter_is_described() -> None:
    """What the strict register takes is what is described, and needs is what is required."""
    for path, operations in described(strict=True)["paths"].items():
        if path in FILES:  # whose one parameter stands in the path
            continue
        parameters = {p["name"]: p["required"] for p in operations["get"]["parameters"]}
        required = {name for name, needed in parameters.items() if needed}

        def status(names: set[str], path: str = path) -> int:
            query = "&".join(f"{name}={RIGHT[name]}" for name in sorted(names))
            return routes.answer(EMPTY, "GET", path, query, strict=True).status

        assert status(set(parameters)) != 400
        for name in RIGHT:
            assert (status(required | {name}) != 400) == (name in parameters), (path, name)
            assert (status(set(parameters) - {name}) == 400) == (name in required), (path, name)


def test_lenient_needs_less_and_takes_more() -> None:
    """Lenient: no `zmenene-od` needed, no largest page; strict: both."""

    def parameter(name: str, *, strict: bool) -> Any:
        listed = described(strict=strict)["paths"]["/api/uctovne-zavierky"]["get"]["parameters"]
        return next(p for p in listed if p["name"] == name)

    assert not parameter("zmenene-od", strict=False)["required"]
    assert parameter("zmenene-od", strict=True)["required"]
    assert "maximum" not in parameter("max-zaznamov", strict=False)["schema"]
    assert parameter("max-zaznamov", strict=True)["schema"]["maximum"] == 10_000
    assert parameter("max-zaznamov", strict=False)["schema"]["minimum"] == 1


def test_patterns_are_plain() -> None:
    """A pattern is anchored and reads the same in every language: no classes of all Unicode."""
    patterns = re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', json.dumps(described(strict=False)))

    assert len(set(patterns)) >= 5
    for pattern in map(json.loads, patterns):
        assert pattern.startswith("^")
        assert pattern.endswith("$")
        assert not re.search(r"\\[dwsDWS]", pattern)


def test_references_lead_somewhere() -> None:
    """Every reference is to a component that is there, and none is there for nothing."""
    whole = described(strict=True)
    used = set(re.findall(r'"\$ref": "#/components/(\w+/\w+)"', json.dumps(whole)))

    assert used == {f"{kind}/{name}" for kind, of in whole["components"].items() for name in of}
