"""Adapters: found by themselves, brought by third parties, one for each family."""

from __future__ import annotations

import pytest
from transformers import PretrainedConfig

from headscope.errors import ModelError
from headscope.model.adapters import Adapter, Route, base, families, family_of, register


class TheirConfig(PretrainedConfig):
    model_type = "theirs"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_REGISTERED", {})


def test_an_adapter_from_outside_is_found() -> None:
    config = TheirConfig()
    assert family_of(config) is None
    theirs = register(Adapter("theirs", output_projection="out", mlp_module="mlp"))
    assert family_of(config) is theirs
    assert list(families())[-1] == "theirs"
    assert register(theirs) is theirs  # a module that is imported twice


def test_a_family_has_one_adapter() -> None:
    register(Adapter("theirs"))
    with pytest.raises(ModelError, match="another adapter for the family 'theirs'"):
        register(Adapter("theirs", Route.SOFTMAX))
    with pytest.raises(ModelError, match="another adapter for the family 'gpt2'"):
        register(Adapter("gpt2"))
    with pytest.raises(ModelError, match="needs a family"):
        register(Adapter(""))


def test_built_in_adapters_are_named_after_their_families() -> None:
    assert all(adapter.family == family for family, adapter in families().items())
    assert {"bert", "roberta", "xlm-roberta", "camembert", "mpnet"} <= set(families())
