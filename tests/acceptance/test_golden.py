"""Every verb writes what it wrote when the golden files were made: see `golden.py`."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.golden import VERBS, Bench, differences, stored


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("verb", VERBS)
def test_golden(verb: str, bench: Bench) -> None:
    wanted, found = stored(verb), bench.snapshot(verb)
    assert json.loads(json.dumps(found.facts)) == wanted.facts
    assert list(found.tables) == list(wanted.tables)
    said = {name: differences(wanted.tables[name], table) for name, table in found.tables.items()}
    assert {name: lines for name, lines in said.items() if lines} == {}
