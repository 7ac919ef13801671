"""A small decoder that learns to copy: its induction head is found, needed, and kept."""

from __future__ import annotations

import string
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.cli.show import role_data
from headscope.experiments.ablation import effects
from headscope.model import Model, disable, wrap
from tests.training import train_with_an_idle_head

LETTERS = string.ascii_lowercase
PERIOD = 12
LENGTH = 2 * PERIOD
STEPS = 600
COPIER = "L1.H1"


def letters_tokenizer() -> PreTrainedTokenizerFast:
    """A token for each letter."""
    vocabulary = {letter: number for number, letter in enumerate(LETTERS)} | {"[PAD]": 26}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[PAD]"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", model_max_length=LENGTH
    )


def periodic(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """(text, token) ids that come again after a while, and where they have come before."""
    period = torch.randint(4, PERIOD + 1, (count, 1), generator=generator)
    drawn = torch.rand(count, len(LETTERS), generator=generator).argsort(1)
    place = torch.arange(LENGTH)[None]
    return drawn.gather(1, place % period), place > period


@pytest.fixture(scope="module")
def copier() -> Model:
    """A Llama of two layers of two heads; in the second layer only one head can give anything."""
    torch.manual_seed(2)
    config = LlamaConfig(
        vocab_size=27,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        pad_token_id=26,
        bos_token_id=None,
        eos_token_id=None,
    )
    network, generator = LlamaForCausalLM(config), torch.Generator().manual_seed(1)

    def loss() -> torch.Tensor:
        ids, known = periodic(32, generator)
        logits = network(ids).logits[:, :-1]
        losses = functional.cross_entropy(logits.mT, ids[:, 1:], reduction="none")
        weights = torch.where(known[:, 1:], 1.0, 0.1)  # the first time there is nothing to copy
        return (losses * weights).sum() / weights.sum()

    columns = network.model.layers[1].self_attn.o_proj.weight
    train_with_an_idle_head(network, columns, loss, STEPS, 5e-3)
    return wrap(network, letters_tokenizer(), "copier")


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of twelve letters that come twice."""
    rng = np.random.default_rng(0)
    texts = [rng.permutation(list(LETTERS))[:PERIOD].tolist() * 2 for _ in range(60)]
    path = tmp_path_factory.mktemp("texts") / "twice.txt"
    path.write_text("\n".join(" ".join(text) for text in texts) + "\n")
    return path


@torch.inference_mode()
def copied(model: Model) -> float:
    """How often the most probable token is the right one, the second time."""
    drawn = torch.rand(64, len(LETTERS), generator=torch.Generator().manual_seed(5))
    ids = drawn.argsort(1)[:, :8].repeat(1, 3)
    guesses = model.whole(ids).logits[:, 8:-1].argmax(-1)
    return float((guesses == ids[:, 9:]).float().mean())


def test_the_head_is_found_by_its_role(copier: Model, twice: Path) -> None:
    results = hs.scan(copier, hs.read(twice), only=["repetition"], progress=NoProgress())
    found = {(row["head"], row["role"]) for row in role_data([results])}
    assert {name for name, role in found if role == "induction"} == {COPIER}


def test_without_it_nothing_is_copied(copier: Model) -> None:
    assert copied(copier) > 0.9
    with disable(copier, COPIER, "zero"):
        assert copied(copier) < 0.2
    with disable(copier, "L1.H0", "zero"):
        assert copied(copier) > 0.9


def test_ablation_finds_that_the_task_needs_it(copier: Model, twice: Path) -> None:
    results = hs.ablate(copier, hs.task(f"causal-lm:{twice}"), progress=NoProgress())
    rows = {row.name: row for row in effects(results, "head")}
    worst = max(rows.values(), key=lambda row: row.delta)
    assert worst.name == COPIER
    assert worst.low > 0.5  # the loss of a token, in nats
    assert abs(rows["L1.H0"].delta) < 1e-6


def test_pruning_keeps_it(copier: Model, twice: Path, tmp_path: Path) -> None:
    task = hs.task(f"causal-lm:{twice}")
    results = hs.prune(
        copier, task, keep=0.75, beside=(), onnx=False, out=tmp_path / "less", progress=NoProgress()
    )
    assert results.record.summary["pruned"]["removed"] == ["L1.H0"]
    assert copied(hs.load(tmp_path / "less", top=task.top)) == copied(copier)
