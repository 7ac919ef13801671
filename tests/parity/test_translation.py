"""Models with an encoder and a decoder, against what the models themselves compute."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.analyses._alignment.word_pairs import rule_choices
from headscope.corpus import Example, parallel
from headscope.corpus.parallel_corpora import PairsInMemory
from headscope.evidence import HEADS
from headscope.model import Model, disable, propagate_relevance, remove, wrap
from headscope.model.attention import Kind, MapWatcher, Seen
from headscope.model.hooks.head_outputs import HeadOutputs, intercept_head_outputs
from headscope.model.paired_batch import PairedBatch
from headscope.testing import tiny_tokenizer
from tests.families import family_network
from tests.unit.examples import aligned_examples

WHOLE = ["bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "encoder-decoder", "fsmt"]
WHOLE += ["m2m_100", "marian", "mbart", "mt5", "mvp", "nllb-moe", "pegasus", "plbart"]
WHOLE += ["switch_transformers", "t5", "t5gemma", "umt5"]
NEAR = ["led", "longt5"]  # the encoder computes only keys near a query
PARTLY = {
    "pegasus_x": {Kind.ENCODER},  # attends in blocks, and to tokens that are no text
    "prophetnet": {Kind.DECODER, Kind.CROSS},  # streams that share an output
}
REMOVABLE = ["bart", "bigbird_pegasus", "encoder-decoder", "marian", "mvp", "t5gemma", "umt5"]
RETURNED = {
    Kind.ENCODER: "encoder_attentions",
    Kind.DECODER: "decoder_attentions",
    Kind.CROSS: "cross_attentions",
}
PAIRS = [
    ("ab cd ef . gh ij kl ab ab cd", "gh ij kl , aa bb"),
    ("a", "ab cd ef . gh ij kl ab ab cd ef gh"),
    ("aabb cc , dd ee ff", "cd"),
]


def stacked(family: str) -> Model:
    return wrap(family_network(family).eval(), tiny_tokenizer(), family)


def batch_of(model: Model, pairs: list[tuple[str, str]]) -> PairedBatch:
    batch = model.batch(model.encode(list(parallel(pairs))))
    assert isinstance(batch, PairedBatch)
    return batch


@torch.inference_mode()
def output(model: Model, batch: PairedBatch) -> Tensor:
    states: Tensor = model.network(**batch.inputs(model.network))[0]
    return states[batch.target.real]


def watched(model: Model, batch: PairedBatch) -> dict[tuple[Kind, int], Tensor]:
    maps: dict[tuple[Kind, int], Tensor] = {}

    def keep(seen: Seen, weights: Tensor) -> None:
        maps[seen.site.kind, seen.site.layer] = weights.clone()

    with model.watch(MapWatcher(keep)) as tap:
        tap.forward(batch)
    return maps


def own_maps(model: Model, batch: PairedBatch) -> Any:
    network = copy.deepcopy(model.network)
    network.set_attn_implementation("eager")
    with torch.inference_mode():
        return network(**batch.inputs(network), output_attentions=True)


@pytest.mark.parametrize("family", [*WHOLE, *PARTLY])
def test_maps_of_every_kind_are_the_models_own(family: str) -> None:
    model = stacked(family)
    assert set(model.missing) == PARTLY.get(family, set())
    batch = batch_of(model, PAIRS)
    own, maps = own_maps(model, batch), watched(model, batch)
    for kind, sites in model.stacks.items():
        returned = getattr(own, RETURNED[kind])
        assert len(returned) == len(sites)
        rows = batch.sides(kind)[0].real[:, None, :, None]
        for site, theirs in zip(sites, returned, strict=True):
            scores = bool(theirs.min() < -1e-3)  # ProphetNet returns these
            weights = theirs.softmax(-1) if scores else theirs
            assert ((maps[kind, site.layer] - weights) * rows).abs().max() <= 1e-5


def by_key(returned: Tensor, tokens: int) -> Tensor:
    """(example, head, query, key) maps that LED or LongT5 returns, weight by weight."""
    if returned.dim() == 4:  # LED: (example, head, query, column), the query in the middle
        examples, heads, _, columns = returned.shape
    else:  # LongT5: (example, block, head, query of the block, column), from the block before
        examples, _, heads, block, _ = returned.shape
    maps = torch.zeros(examples, heads, tokens, tokens)
    for example, head, query, key in np.ndindex(*maps.shape):
        if returned.dim() == 4:
            column, row = key - query + columns // 2, returned[example, head, query]
        else:
            column = key - (query // block - 1) * block
            row = returned[example, query // block, head, query % block]
        if 0 <= column < len(row):
            maps[example, head, query, key] = row[column]
    return maps


@pytest.mark.parametrize("family", NEAR)
@pytest.mark.parametrize("times", [1, 5])
def test_near_keys_are_where_the_model_has_them(family: str, times: int) -> None:
    """Texts shorter and longer than a window: as returned, and as the outputs of heads say."""
    model = stacked(family)
    assert not model.missing
    batch = batch_of(model, [(" ".join([source] * times), target) for source, target in PAIRS])
    own, maps = own_maps(model, batch), watched(model, batch)
    rows = batch.real[:, None, :, None]
    for layer, returned in enumerate(own.encoder_attentions):
        ours, theirs = maps[Kind.ENCODER, layer], by_key(returned, batch.real.shape[1])
        assert ((ours - theirs) * rows).abs().max() <= 1e-6
    far = (torch.arange(ours.shape[2])[:, None] - torch.arange(ours.shape[3])).abs() > 16
    assert bool(far.any()) == (times == 5)
    assert not ours[..., far].any()
    seen: list[Tensor] = []

    def compare(outputs: HeadOutputs) -> Tensor:
        if outputs.layer == len(own.encoder_attentions) - 1:
            seen.append(torch.einsum("bhij,bhjd->bihd", ours, outputs.value) - outputs.context)
        return outputs.context

    with intercept_head_outputs(model.network, model.adapter, compare):
        output(model, batch)
    assert (seen[0] * batch.real[:, :, None, None]).abs().max() <= 1e-5


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize(
    ("family", "value", "projection"),
    [
        ("led", "layers.1.self_attn.longformer_self_attn.value", "layers.1.self_attn.output"),
        ("longt5", "block.1.layer.0.LocalSelfAttention.v", "block.1.layer.0.LocalSelfAttention.o"),
    ],
)
def test_heads_that_see_near_keys_are_replaced(
    family: str, value: str, projection: str, how: str
) -> None:
    """Against the input of the output projection, rewritten."""
    model = stacked(family)
    encoder = model.network.get_submodule("encoder")
    batch = batch_of(model, [(" ".join([source] * 5), target) for source, target in PAIRS])
    rows = (watched(model, batch)[Kind.ENCODER, 1].sum(1) > 0).float()
    rows /= rows.sum(-1, keepdim=True).clamp(min=1)
    values: list[Tensor] = []

    def keep(_: Any, __: Any, vectors: Tensor) -> None:
        values.append(vectors.transpose(0, 1) if family == "led" else vectors)

    def rewrite(_: Any, given: tuple[Tensor]) -> tuple[Tensor]:
        size, tokens = given[0].shape[-1] // model.heads, rows.shape[1]
        head = slice(2 * size, 3 * size)
        uniform = rows @ values[-1][:, :tokens, head]
        changed = given[0].clone()
        changed[:, :tokens, head] = uniform if how == "uniform" else 0
        return (changed,)

    before = output(model, batch)
    with disable(model, "encoder L1.H2", how):
        found = output(model, batch)
    hooks = [
        encoder.get_submodule(value).register_forward_hook(keep),
        encoder.get_submodule(projection).register_forward_pre_hook(rewrite),
    ]
    expected = output(model, batch)
    for hook in hooks:
        hook.remove()
    assert torch.allclose(found, expected, atol=1e-5 * float(expected.abs().max()))
    assert not torch.allclose(found, before, atol=1e-4)


@pytest.mark.parametrize("family", ["bart", "marian", "t5", "encoder-decoder", "mvp"])
def test_texts_do_not_depend_on_their_neighbours(family: str) -> None:
    model = stacked(family)
    assert not model.adapter.depends_on_padding
    together = watched(model, batch_of(model, PAIRS))
    for place, pair in enumerate(PAIRS):
        for key, alone in watched(model, batch_of(model, [pair])).items():
            rows, keys = alone.shape[2:]
            assert (together[key][place, :, :rows, :keys] - alone[0]).abs().max() <= 1e-5


@pytest.mark.parametrize("family", ["bart", "marian", "m2m_100", "pegasus", "plbart"])
@pytest.mark.parametrize("kind", list(Kind))
def test_zero_is_what_edited_weights_give(family: str, kind: Kind) -> None:
    model = stacked(family)
    edited: Any = copy.deepcopy(model.network)
    batch = batch_of(model, PAIRS)
    stack = edited.encoder if kind is Kind.ENCODER else edited.decoder
    layer = stack.layers[1]
    attention = layer.encoder_attn if kind is Kind.CROSS else layer.self_attn
    size = attention.out_proj.in_features // model.heads
    attention.out_proj.weight.data[:, 2 * size : 3 * size] = 0
    with torch.inference_mode():
        expected = edited(**batch.inputs(edited))[0][batch.target.real]
    before = output(model, batch)
    with disable(model, f"{kind} L1.H2", "zero"):
        found = output(model, batch)
    assert torch.allclose(found, expected, atol=1e-5 * float(expected.abs().max()))
    assert not torch.allclose(found, before, atol=1e-4)


@pytest.mark.parametrize("kind", list(Kind))
def test_uniform_is_what_rewritten_weights_give(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.models.marian import modeling_marian as file

    model = stacked("marian")
    batch = batch_of(model, PAIRS)
    network: Any = copy.deepcopy(model.network)
    network.set_attn_implementation("eager")
    stack = network.encoder if kind is Kind.ENCODER else network.decoder
    attention = stack.layers[0].encoder_attn if kind is Kind.CROSS else stack.layers[0].self_attn
    original = file.eager_attention_forward

    def rewritten(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any
    ) -> Any:
        context, weights = original(module, query, key, value, mask, **options)
        if module is attention:
            seen = (weights > 0).any(1, keepdim=True).double()
            even = (seen / seen.sum(-1, keepdim=True)).float()
            context = context.clone()
            context[:, :, 1] = (even @ value[:, 1:2])[:, 0]
        return context, weights

    monkeypatch.setattr(file, "eager_attention_forward", rewritten)
    with torch.inference_mode():
        expected = network(**batch.inputs(network))[0][batch.target.real]
    monkeypatch.undo()
    with disable(model, f"{kind} L0.H1", "uniform"):
        found = output(model, batch)
    assert torch.allclose(found, expected, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("family", REMOVABLE)
def test_removed_heads_are_heads_at_zero(family: str) -> None:
    model = stacked(family)
    names = "encoder L0.H1,decoder L1.H0,cross L0.H3,cross L1"
    batch = batch_of(model, PAIRS)
    with disable(model, names, "zero"):
        expected = output(model, batch)
    found = output(remove(model, names), batch)
    assert torch.allclose(found, expected, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.parametrize("family", ["marian", "bart", "t5"])
def test_relevance_is_conserved_at_every_attention(family: str) -> None:
    model = stacked(family)
    batch = batch_of(model, PAIRS)
    with propagate_relevance(model) as trace:
        states = model.network(**batch.inputs(model.network))[0][batch.target.real]
        score = (states * torch.randn(states.shape[-1])).sum()
        layers = trace.relevance(score)
    assert [each.layer for each in sorted(layers, key=lambda each: each.layer)] == list(range(6))
    for each in layers:
        parts = [float(each.heads.sum()), each.past, each.biases, each.epsilons, each.elsewhere]
        assert abs(sum(parts) - score.item()) <= 1e-4 * max(abs(part) for part in parts)


ALIGNED = [
    ("ab cd ef gh", "ij kl aa", ((0, 1, "sure"), (1, 0, "sure"), (3, 2, "possible"))),
    ("aa bb", "cc dd ee ff", ((0, 0, "sure"), (1, 3, "sure"), (1, 2, "possible"))),
    ("gh ij kl", "gh", ((1, 0, "sure"),)),
    ("not linked", "at all", ()),
]


def links_of(head_map: Tensor, source: Any, target: Any, said: bool) -> list[int]:
    """The slow, obvious way: the source word that gets most from each target word."""
    links = []
    for word in range(len(target.words)):
        rows = [place for place, its in enumerate(target.word.tolist()) if its == word]
        sums = []
        for other in range(len(source.words)):
            columns = [place for place, its in enumerate(source.word.tolist()) if its == other]
            weights = [
                sum(float(head_map[row - said, column]) for column in columns) for row in rows
            ]
            sums.append(sum(weights) / len(weights))
        links.append(int(np.argmax(sums)))
    return links


def scores_of(drawn: list[tuple[list[int], Example]]) -> tuple[float, float]:
    """Accuracy and AER from links, one set after the other."""
    right = asked = both_sure = both_possible = made = wanted = 0
    for links, example in drawn:
        sure = {(a, b) for a, b, label in example.alignment if label == "sure"}
        possible = {(a, b) for a, b, _ in example.alignment}
        if not possible:
            continue
        found = {(source, target) for target, source in enumerate(links) if source >= 0}
        both_sure += len(found & sure)
        both_possible += len(found & possible)
        made += len(found)
        wanted += len(sure)
        linked = {target for _, target in possible}
        asked += len(linked)
        right += sum((links[target], target) in possible for target in linked)
    return right / asked, 1 - (both_sure + both_possible) / (made + wanted)


def test_alignment_is_what_a_slow_count_says() -> None:
    model = stacked("marian")
    examples = aligned_examples(ALIGNED * 8)
    base = parallel([("a", "b")], "aligned")
    corpus = PairsInMemory(base.name, base.paths, base.reader, examples=tuple(examples))
    results = hs.scan(model, corpus, only=["alignment"], progress=NoProgress())
    rows = {
        (row.statistic, row.direction, row.group, row.layer, row.head): row.value
        for row in results.rows(HEADS, analysis="alignment")
    }
    drawn: dict[tuple[int, int, bool], list[tuple[list[int], Example]]] = {}
    for example in examples:
        (pieces,) = model.encode([example])
        batch = model.batch([pieces])
        assert isinstance(batch, PairedBatch)
        for (kind, layer), maps in watched(model, batch).items():
            for head in range(maps.shape[1]) if kind is Kind.CROSS else ():
                for said in (False, True):
                    links = links_of(maps[0, head], pieces, batch.target.pieces[0], said)
                    drawn.setdefault((layer, head, said), []).append((links, example))
    for (layer, head, said), made in drawn.items():
        accuracy, aer = scores_of(made)
        where = ("output" if said else "input", "attention", layer, head)
        assert rows["accuracy", *where] == pytest.approx(accuracy, abs=1e-9)
        assert rows["aer", *where] == pytest.approx(aer, abs=1e-9)
    for place, rule in ((0, "diagonal"), (6, "+0"), (5, "-1")):
        fixed = [
            (
                rule_choices(len(each.words), len(each.translation.words))[place].tolist(),
                each,
            )
            for each in examples
            if each.translation is not None
        ]
        accuracy, aer = scores_of(fixed)
        assert rows["rule_accuracy", None, rule, None, None] == pytest.approx(accuracy)
        assert rows["rule_aer", None, rule, None, None] == pytest.approx(aer)


def test_scans_of_three_kinds_are_those_of_the_models_own_maps() -> None:
    model = stacked("bart")
    pairs = PAIRS * 8
    results = hs.scan(
        model, parallel(pairs), only=["focus", "special_tokens"], progress=NoProgress()
    )
    sums: dict[tuple[str, int], list[Any]] = {}
    for pair in pairs:
        own = own_maps(model, batch_of(model, [pair]))
        for kind, name in RETURNED.items():
            for layer, maps in enumerate(getattr(own, name)):
                entropy = torch.special.entr(maps[0].double()).sum(-1)  # (head, query)
                total = sums.setdefault((str(kind), layer), [0.0, 0])
                total[0] = total[0] + entropy.sum(-1)
                total[1] += entropy.shape[1]
    rows = results.rows(HEADS, analysis="focus", statistic="entropy")
    found = {(row.attention, row.layer, row.head): row.value for row in rows if row.group is None}
    for (kind_name, layer), (total, count) in sums.items():
        for head, expected in enumerate((total / count).tolist()):
            assert found[kind_name, layer, head] == pytest.approx(expected, abs=1e-5)
