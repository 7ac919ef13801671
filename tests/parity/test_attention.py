"""What the tap shows equals what the model itself returns under eager attention."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope.corpus import Example
from headscope.model import Model
from headscope.model.attention import Band, MapWatcher, Request, Seen, View
from headscope.model.batch import Batch
from tests.tiny import CONFIGS, UNKNOWN, tiny

PADDED = ["ab cd ef . gh ij kl", "a", "aabb cc , dd"]
UNPADDED = ["ab cd ef .", "gh ij kl ,"]


def watched(model: Model, batch: Batch) -> tuple[list[Tensor], Tensor]:
    """Copies of the weights that the tap shows, and the model's output."""
    maps: list[Tensor] = []

    def keep(seen: Seen, weights: Tensor) -> None:
        assert seen.site == model.sites[len(maps)]
        maps.append(weights.clone())

    with model.watch(MapWatcher(keep)) as tap:
        output = tap.forward(batch)
    return maps, output


def eager(model: Model, batch: Batch) -> tuple[list[Tensor], Tensor]:
    """The weights that the model itself returns."""
    before = model.network.config._attn_implementation
    model.network.set_attn_implementation("eager")
    inputs = {"input_ids": batch.ids, "attention_mask": batch.real.long()}
    if getattr(model.network.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = batch.segments
    with torch.no_grad():
        output = model.network(**inputs, output_attentions=True)
    model.network.set_attn_implementation(before)
    return list(output.attentions), output[0]


def assert_equal_maps(model: Model, texts: list[str], tolerance: float = 1e-5) -> None:
    examples = [Example(str(n), text=text) for n, text in enumerate(texts)]
    batch = model.batch(model.encode(examples))
    maps, output = watched(model, batch)
    expected, plain = eager(model, batch)
    assert len(maps) == len(expected) == model.layers
    for ours, theirs in zip(maps, expected, strict=True):
        assert ours.shape[1] == model.heads
        queries = batch.real[:, None, :, None].expand_as(ours)
        torch.testing.assert_close(ours[queries], theirs[queries], atol=tolerance, rtol=0)
        rows = ours.sum(-1).transpose(1, 2)[batch.real]
        torch.testing.assert_close(rows, torch.ones_like(rows), atol=1e-5, rtol=0)
    torch.testing.assert_close(output[batch.real], plain[batch.real], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("texts", [PADDED, UNPADDED], ids=["padded", "unpadded"])
@pytest.mark.parametrize("family", [*CONFIGS, *UNKNOWN])
def test_tap_equals_eager(family: str, texts: list[str]) -> None:
    assert_equal_maps(tiny(family), texts)


def test_causal_rows_see_only_the_prefix() -> None:
    model = tiny("gpt2")
    batch = model.batch(model.encode([Example("1", text="ab cd ef gh")]))
    for weights in watched(model, batch)[0]:
        assert torch.equal(weights, weights.tril())


def test_windows_limit_what_modernbert_sees() -> None:
    model = tiny("modernbert")
    batch = model.batch(model.encode([Example("1", text=" ".join(["ab", "cd", "ef", "gh"] * 6))]))
    seen: list[Tensor] = []
    watcher = MapWatcher(lambda site, _: seen.append(site.view.visible.count[0]))
    with model.watch(watcher) as tap:
        tap.forward(batch)
    assert bool((seen[0] == len(batch.pieces[0])).all())  # a layer that sees everything
    assert float(seen[1].max()) == 9  # four tokens on both sides, and itself


def test_diagonals_do_not_see_what_lies_around_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh memory may hold NaN; a band reaches beyond its map and must not let it in."""
    model = tiny("bert")
    batch = model.batch(model.encode([Example("1", text="ab cd ef"), Example("2", text="a")]))
    real_empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *a, **k: real_empty(*a, **k).fill_(float("nan")))
    seen: list[Tensor] = []

    class Watcher:
        def ask(self, view: View) -> dict[str, Request]:
            return {"near": Band(8)}

        def observe(self, site: Seen) -> None:
            seen.append(site["near"].sum(-1))

    with model.watch(Watcher()) as tap:
        tap.forward(batch)
    for sums in seen:  # short texts: all of a row lies within the band
        real = sums.transpose(1, 2)[batch.real]
        torch.testing.assert_close(real, torch.ones_like(real), atol=1e-5, rtol=0)


def test_pairs_carry_segments(minilm: Model) -> None:
    example = Example("1", text="The cat sleeps.", pair="It is tired.")
    batch = minilm.batch(minilm.encode([example]))
    assert batch.segments.tolist() == [[0] * 6 + [1] * 5]
    assert int(batch.separator.sum()) == 2
    maps, output = watched(minilm, batch)
    expected, plain = eager(minilm, batch)
    torch.testing.assert_close(maps[-1], expected[-1], atol=1e-5, rtol=0)
    torch.testing.assert_close(output, plain, atol=1e-5, rtol=0)


REAL = [
    "The cat that we fed sat down.",
    "Yes.",
    "They paid 5,000 won (in cash) on Monday, I think.",
]


def test_minilm_equals_eager(minilm: Model) -> None:
    assert_equal_maps(minilm, REAL)


@pytest.mark.parametrize(
    "name", ["gte-small", "all-mpnet-base-v2", "albert-kor-base", "rxnfp-pretrained"]
)
def test_real_models_equal_eager(models: Path, name: str) -> None:
    texts = ["CCO.CC(=O)O>>CCOC(C)=O", "CCO"] if name.startswith("rxn") else REAL
    assert_equal_maps(hs.load(models / name), texts, tolerance=5e-5)  # larger scores, float32
