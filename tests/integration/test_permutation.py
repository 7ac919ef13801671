"""A small model that learns to translate by a known permutation of words: its alignment head is
found, needed, and kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.errors import HeadscopeError
from headscope.experiments.ablation import effects
from headscope.experiments.gates.schedule import Schedule
from headscope.experiments.gates.tables import open_shares
from headscope.model import Model, disable, remove, wrap
from tests.training import train_with_an_idle_head

WORDS = 20
PLACES = [3, 0, 5, 1, 7, 4, 2, 6]
"""Where each word of a translation comes from."""
STEPS = 300
ALIGNER = "cross L0.H1"


def words_tokenizer() -> PreTrainedTokenizerFast:
    """A token for each word of two languages; `</s>` ends a text."""
    names = ["<pad>", "</s>", *(f"{side}{n}" for side in "st" for n in range(WORDS))]
    vocabulary = {name: number for number, name in enumerate(names)}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<pad>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    core.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="</s>", model_max_length=32
    )


def drawn(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """(text, token) ids of texts and of their translations."""
    words = torch.rand(count, WORDS, generator=generator).argsort(1)[:, : len(PLACES)]
    end = torch.ones(count, 1, dtype=torch.long)
    return torch.cat([words + 2, end], 1), torch.cat([words[:, PLACES] + 2 + WORDS, end], 1)


@pytest.fixture(scope="module")
def permuter() -> Model:
    """A BART of one layer of two heads on each side; one cross head can give nothing."""
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=2 + 2 * WORDS,
        d_model=64,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
        dropout=0.0,
        init_std=0.1,
    )
    network, generator = BartForConditionalGeneration(config), torch.Generator().manual_seed(0)

    def loss() -> torch.Tensor:
        source, target = drawn(64, generator)
        found: torch.Tensor = network(input_ids=source, labels=target).loss
        return found

    columns = network.model.decoder.layers[0].encoder_attn.out_proj.weight
    train_with_an_idle_head(network, columns, loss, STEPS, 2e-3)
    return wrap(network, words_tokenizer(), "permuter")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts with their translations and the permutation as word alignments."""
    rng = np.random.default_rng(0)
    links = " ".join(f"{source}-{target}" for target, source in enumerate(PLACES))
    lines = ["source\ttarget\talignment"]
    for _ in range(60):
        words = rng.permutation(WORDS)[: len(PLACES)]
        source = " ".join(f"s{word}" for word in words)
        target = " ".join(f"t{words[place]}" for place in PLACES)
        lines.append(f"{source}\t{target}\t{links}")
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@torch.inference_mode()
def said_rightly(model: Model) -> float:
    """The share of words that a model says rightly."""
    source, target = drawn(64, torch.Generator().manual_seed(5))
    speaker: Any = model.whole
    said = speaker.generate(source, num_beams=1, do_sample=False, max_length=10, min_length=10)
    return float((said[:, 1:9] == target[:, :8]).float().mean())


def test_the_alignment_head_is_found(permuter: Model, pairs: Path) -> None:
    results = hs.scan(
        permuter, hs.read(f"parallel:{pairs}"), only=["alignment"], progress=NoProgress()
    )
    best = results.best("alignment", "attention", statistic="aer", direction="output")
    assert repr(best).startswith(ALIGNER)
    assert best.value < 0.1
    assert best.row.baseline is not None
    assert best.row.baseline > 0.5


def test_without_it_nothing_is_translated(permuter: Model) -> None:
    assert said_rightly(permuter) > 0.95
    with disable(permuter, ALIGNER, "zero"):
        assert said_rightly(permuter) < 0.2
    with disable(permuter, "cross L0.H0", "zero"):
        assert said_rightly(permuter) > 0.95


def test_ablation_and_importance_find_that_the_task_needs_it(permuter: Model, pairs: Path) -> None:
    task = hs.task(f"translate-loss:{pairs}")
    rows = {
        row.name: row for row in effects(hs.ablate(permuter, task, progress=NoProgress()), "head")
    }
    assert max(rows.values(), key=lambda row: row.delta).name == ALIGNER
    results = hs.importance(permuter, task, progress=NoProgress())
    first = results.pandas("importance").sort_values("rank").iloc[0]
    assert (first["attention"], first["layer"], first["head"]) == ("cross", 0, 1)


def test_gates_keep_it(permuter: Model, pairs: Path) -> None:
    schedule = Schedule(penalties=(0.05, 0.2), steps=60)
    results = hs.gates(
        permuter, f"translate-loss:{pairs}", schedule=schedule, seeds=1, progress=NoProgress()
    )
    shares = open_shares(results.of("cross"))
    assert shares[0, 1] == 1.0 > shares[0, 0]


def test_removing_the_other_head_leaves_the_translations(permuter: Model) -> None:
    smaller = remove(permuter, "cross L0.H0,encoder L0.H0")
    with disable(permuter, "cross L0.H0,encoder L0.H0", "zero"):
        expected = said_rightly(permuter)
    assert said_rightly(smaller) == expected


def test_heads_that_are_named_are_pruned(permuter: Model, pairs: Path, tmp_path: Path) -> None:
    task = hs.task(f"translate-loss:{pairs}")
    results = hs.prune(
        permuter,
        task,
        heads="cross L0.H0,enc.L0.H1",
        beside=(),
        out=tmp_path / "less",
        progress=NoProgress(),
    )
    assert results.record.summary["pruned"]["removed"] == ["encoder L0.H1", "cross L0.H0"]
    card = (tmp_path / "less" / "README.md").read_text()
    assert "- cross L0: H0" in card
    with disable(permuter, "cross L0.H0,enc.L0.H1", "zero"):
        expected = said_rightly(permuter)
    assert said_rightly(hs.load(tmp_path / "less")) == expected
    with pytest.raises(HeadscopeError, match="one of the three"):
        hs.prune(permuter, task, keep=0.5, heads="cross L0.H0")
