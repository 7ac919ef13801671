"""Probes equal their definition, pair by pair; trees equal networkx's; attention is the tap's."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn

import headscope as hs
import headscope.experiments.probe.sentences as trees
from headscope._util.progress import NoProgress
from headscope.corpus import Example, read
from headscope.corpus.vectors import WordVectors, read_vectors
from headscope.errors import HeadscopeError, InputError, RunError
from headscope.evidence import ShardResult, Tally
from headscope.experiments.probe.evaluation import head_use, sentence_scores, spanning_tree
from headscope.experiments.probe.inputs import TreebankPart, own_vectors, temporary_file
from headscope.experiments.probe.jobs import JOBS, JobResult
from headscope.experiments.probe.labels import predict_relations, train_labeller
from headscope.experiments.probe.probes import (
    KINDS,
    Attention,
    AttentionAndWords,
    Probe,
    ProbeDimensions,
    WordsAndDistance,
    joint_scores,
)
from headscope.experiments.probe.sentences import (
    ParsedSentence,
    control,
    dependencies,
    parsed_sentences,
    split_development,
)
from headscope.experiments.probe.tables import PROBES
from headscope.experiments.probe.training import ProbeHyperparameters, train
from headscope.experiments.probe.word_attention import WordAttentionBatch, WordMaps
from headscope.model import Model, reinitialise
from headscope.model.attention import MapWatcher, Seen
from tests.tiny import tiny
from tests.unit.examples import corpus_of

TREES = [
    Example(
        "1",
        words=("ab", "cd", "kaka", "."),
        heads=(1, -1, 1, 1),
        relations=("det", "root", "obj", "punct"),
        document="a",
    ),
    Example(
        "2",
        words=("kaka", "lele", "fa"),
        heads=(1, 2, -1),
        relations=("nsubj", "obj", "root"),
        document="b",
    ),
    Example(
        "3",
        words=("dededede", "ab", ",", "ga", "ha", "ab"),
        heads=(-1, 0, 1, 5, 5, 0),
        relations=("root", "obj", "punct", "det", "amod", "obj"),
        document="c",
    ),
]


def part_of(
    model: Model, examples: list[Example], size: int = 5, max_bytes: int = 1 << 30
) -> TreebankPart:
    some = parsed_sentences(model.encode(examples))
    types = sorted({word for one in some for word in one.words})
    torch.manual_seed(3)
    index = [torch.tensor([types.index(word) for word in one.words]) for one in some]
    return TreebankPart(
        WordMaps(model, some, BytesIO(), max_bytes=max_bytes), torch.randn(len(types), size), index
    )


def slow_maps(model: Model, one: ParsedSentence) -> tuple[Tensor, Tensor]:
    """(head, word, word) and (head, word, 2), piece by piece."""
    word, rows, ends = one.pieces.word, [], []
    texts = [place for place in range(len(one.pieces.words)) if (word == place).any()]

    def keep(seen: Seen, maps: Tensor) -> None:
        separator = seen.view.keys.separator[0]
        for weights in maps[0].double():
            made = torch.zeros(len(texts), len(texts))
            last = torch.zeros(len(texts), 2)
            for i, query in enumerate(texts):
                pieces = np.nonzero(word == query)[0]
                for j, key in enumerate(texts):
                    made[i, j] = weights[pieces][:, word == key].sum(1).mean()
                if one.pieces.special[0]:
                    last[i, 0] = weights[pieces, 0].mean()
                if bool(separator.any()):
                    last[i, 1] = weights[pieces][:, separator.numpy()].sum(1).mean()
            rows.append(made)
            ends.append(last)

    with model.watch(MapWatcher(keep)) as tap:
        tap.forward(model.batch([one.pieces]))
    return torch.stack(rows), torch.stack(ends)


@pytest.mark.parametrize("family", ["bert", "gpt2", "mpnet"])
def test_word_maps(family: str) -> None:
    model = tiny(family)
    kept, streamed = part_of(model, TREES), part_of(model, TREES, max_bytes=0)
    seen = 0
    for group, places in enumerate(kept.maps.groups):
        attention, again = kept.maps.read(group), streamed.maps.read(group)
        torch.testing.assert_close(attention.words, again.words)
        torch.testing.assert_close(attention.to_special, again.to_special)
        for row, place in enumerate(places):
            one = kept.maps.sentences[place]
            words, ends = slow_maps(model, one)
            size, heads = len(one), len(words)
            found = attention.words[row, :size, :size].permute(2, 0, 1)
            torch.testing.assert_close(found, words, rtol=1e-3, atol=1e-3)
            both = attention.to_special[row, :size].view(size, 2, heads).permute(2, 0, 1)
            torch.testing.assert_close(both, ends, rtol=1e-3, atol=1e-3)
            assert not attention.words[row, size:].any()
            seen += 1
    assert seen == len(TREES)


def slow_scores(probe: Probe, attention: WordAttentionBatch, vectors: Tensor, row: int) -> Tensor:
    """(word, 1 + word) by the definition: for every pair the two vectors side by side."""
    size, heads = int(attention.real[row].sum()), attention.words.shape[-1]
    made = torch.full((size, size + 1), -1e9)
    for j in range(size):
        for i in range(size):
            to_word, back = attention.words[row, i, j], attention.words[row, j, i]  # (head,)
            if isinstance(probe, Attention):
                weight, other = probe.pair[:, 0], probe.pair[:, 1]
            else:
                assert isinstance(probe, AttentionAndWords)
                table, bias = probe.weights.weight, probe.weights.bias
                query, key = (table.view(4, heads, -1)[s] for s in (slice(0, 2), slice(2, 4)))
                offset = bias.view(4, heads)
                pair = torch.cat([vectors[row, i], vectors[row, j]])
                weight = torch.cat([query[0], key[0]], 1) @ pair + offset[0] + offset[2]
                other = torch.cat([key[1], query[1]], 1) @ pair + offset[1] + offset[3]
            if i != j:
                made[j, 1 + i] = (weight * to_word + other * back).sum()
        if isinstance(probe, Attention):
            made[j, 0] = probe.root(attention.to_special[row, j])
        elif isinstance(probe, AttentionAndWords):
            made[j, 0] = (probe.root(vectors[row, j]) * attention.to_special[row, j]).sum()
    return made


@pytest.mark.parametrize("kind", ["attention", "attention and words"])
def test_scores(kind: str) -> None:
    part = part_of(tiny("bert"), TREES)
    torch.manual_seed(0)
    probe = KINDS[kind](ProbeDimensions(part.maps.heads, 5))
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.normal_()
        for group in range(len(part.maps)):
            attention, vectors = part.read(group, probe)
            found = probe(attention, vectors)
            for row, one in enumerate(part.maps.members(group)):
                reference = slow_scores(probe, attention, vectors, row)
                size = len(one)
                torch.testing.assert_close(
                    found[row, :size, : size + 1], reference, rtol=1e-4, atol=1e-4
                )
                assert (found[row, :size, size + 1 :] < -1e8).all()


@pytest.mark.parametrize("kind", list(KINDS))
def test_probes_together_are_probes_alone(kind: str) -> None:
    part = part_of(tiny("bert"), TREES)
    torch.manual_seed(0)
    probes = [KINDS[kind](ProbeDimensions(part.maps.heads, 5)) for _ in range(3)]
    for probe in probes:
        for parameter in probe.parameters():
            nn.init.normal_(parameter)
    for group in range(len(part.maps)):
        attention, vectors = part.read(group, probes[0])
        both = joint_scores(probes, attention, vectors, allow_self=True)
        for probe, scores in zip(probes, both, strict=True):
            torch.testing.assert_close(
                probe(attention, vectors, True), scores, rtol=1e-4, atol=1e-4
            )


def test_words_and_distance_is_a_network_of_one_hidden_layer() -> None:
    part = part_of(tiny("bert"), TREES)
    probe = WordsAndDistance(ProbeDimensions(part.maps.heads, 5, 7))
    attention, vectors = part.read(0, probe)
    found = probe(attention, vectors)
    size = int(attention.real[0].sum())
    for j in range(size):
        for i in range(size):
            if i == j:
                continue
            far = abs(i - j)
            step = 0 if far == 1 else 1 if far == 2 else 2 if far <= 5 else 3
            pair = torch.cat([vectors[0, j], vectors[0, i]])
            hidden = torch.cat([probe.word.weight, probe.candidate.weight], 1) @ pair
            hidden = hidden + probe.word.bias + probe.distance.weight[step + 4 * (i > j)]
            reference = probe.out(torch.relu(hidden))[0]
            torch.testing.assert_close(found[0, j, 1 + i], reference)


def test_uses() -> None:
    part = part_of(tiny("bert"), TREES)
    torch.manual_seed(0)
    for kind in (Attention, AttentionAndWords):
        probe = kind(ProbeDimensions(part.maps.heads, 5))
        with torch.no_grad():
            for parameter in probe.parameters():
                parameter.normal_()
        found = {unit: (added, words) for unit, added, words in head_use(probe, part)}
        for group in range(len(part.maps)):
            attention, vectors = part.read(group, probe)
            with torch.no_grad():
                ways = probe.use(attention, vectors)
                scores = probe(attention, vectors, True)[..., 1:]
            real = attention.real[:, :, None] & attention.real[:, None]
            added = ways[0].sum(-1) + ways[1].sum(-1)
            torch.testing.assert_close(added[real], scores[real], rtol=1e-4, atol=1e-4)
            for row, one in enumerate(part.maps.members(group)):
                for way, parts in enumerate(ways):
                    total = np.zeros(part.maps.heads)
                    for j in range(len(one)):
                        if one.scored[j] and one.heads[j] > 0:
                            right = int(one.heads[j]) - 1
                            others = [i for i in range(len(one)) if i not in (j, right)]
                            mine = parts[row, j]
                            total += (mine[right] - mine[others].mean(0)).double().numpy()
                    np.testing.assert_allclose(found[one.unit][0][:, way], total, atol=1e-4)


def test_trees_are_networkx_s() -> None:
    rng = np.random.default_rng(0)
    for size in (2, 3, 5, 9):
        for _ in range(20):
            scores = rng.normal(0, 3, (size, size + 1))
            scores[np.arange(size), np.arange(1, size + 1)] = -1e9
            heads = spanning_tree(scores)
            chances = scores - np.logaddexp.reduce(scores, 1, keepdims=True)
            best = -np.inf
            for root in range(size):  # one word at the root: try each
                graph = nx.DiGraph()
                graph.add_edge(0, root + 1, weight=chances[root, 0])
                for j in range(size):
                    for i in range(size):
                        if j not in (i, root):
                            graph.add_edge(i + 1, j + 1, weight=chances[j, i + 1])
                tree = nx.maximum_spanning_arborescence(graph)
                best = max(best, sum(data["weight"] for _, _, data in tree.edges(data=True)))
            assert (heads == 0).sum() == 1
            assert chances[np.arange(size), heads].sum() == pytest.approx(best)


def test_sentences_keep_to_the_words_that_are_seen() -> None:
    model = tiny("bert")
    whole = parsed_sentences(model.encode(TREES))
    assert whole[0].heads.tolist() == [2, 0, 2, 2]
    assert whole[0].scored.tolist() == [True, True, True, False]
    (cut,) = parsed_sentences(model.encode(TREES[2:], 8))
    assert cut.words == ("dededede", "ab", ",")
    assert cut.heads.tolist() == [0, 1, 2]
    assert len(split_development(whole)[1]) == 1


def test_control_depends_on_the_word_alone() -> None:
    found: dict[str, set[str]] = {}
    for one in parsed_sentences(tiny("bert").encode(TREES)):
        for place, head in enumerate(control(one).tolist()):
            places = {"first": 1, "last": len(one), "itself": place + 1}
            names = {name for name, there in places.items() if there == head}
            assert names
            word = one.words[place]
            found[word] = found.get(word, names) & names
    assert all(found.values())


def test_baselines() -> None:
    some = parsed_sentences(tiny("bert").encode(TREES))
    assert trees.right_branching(some[1]).tolist() == [2, 3, 0]
    assert trees.at_offset(some[0], -1).tolist() == [0, 1, 2, 3]
    right = {
        o: sum(trees.count_correct(one, trees.at_offset(one, o)) for one in some)
        for o in (-1, 1, 2)
    }
    best = trees.best_offset(some)
    assert right[1] == max(right.values())
    assert best == 1
    offsets = trees.best_offsets(some)
    assert offsets["root"] == 0
    assert trees.by_relation(some[1], offsets)[2] == 0


def test_a_probe_learns_what_attention_shows(minilm: Model) -> None:
    """A treebank whose heads are those of a single head of the model is parsed by that head."""
    first = part_of(minilm, list(read("tour")))
    chosen, made = 1 * 12 + 4, []
    for group in range(len(first.maps)):
        attention = first.maps.read(group)
        for row, one in enumerate(first.maps.members(group)):
            mine = attention.words[row, : len(one), : len(one), chosen].clone()
            mine.fill_diagonal_(-1)
            heads = tuple(mine.argmax(1).tolist())
            made.append(
                Example(
                    one.pieces.example.id,
                    words=one.words,
                    heads=heads,
                    relations=("dep",) * len(heads),
                    document=one.unit,
                )
            )
    part = part_of(minilm, made)
    (found,) = train("attention", (part, part), dependencies, [(ProbeHyperparameters(0.5), 0)])
    assert found.score > 0.9
    assert isinstance(found.probe, Attention)
    best = np.sum([added for _, added, _ in head_use(found.probe, part)], 0)
    assert divmod(int(np.argmax(best)), 2) == (chosen, 1)
    right = [
        (one.scored & (scores.argmax(1) == one.heads)).sum()
        for _, one, scores in sentence_scores(found.probe, part, dependencies)
    ]
    words = sum(one.scored.sum() for one in part.maps.sentences)
    assert sum(right) / words == pytest.approx(found.score)
    heads_of = {
        place: s.argmax(1) for place, _, s in sentence_scores(found.probe, part, dependencies)
    }
    names = predict_relations(train_labeller(part, 0), part, heads_of)
    assert {name for some in names.values() for name in some} == {"dep"}


def embeddings(model: Model) -> Tensor:
    table = model.network.get_input_embeddings().weight
    assert isinstance(table, Tensor)
    return table.detach()


def test_random_layers_keep_the_embeddings(minilm: Model) -> None:
    kept, none = reinitialise(minilm, embeddings=True), reinitialise(minilm)
    assert torch.equal(embeddings(kept), embeddings(minilm))
    assert not torch.equal(embeddings(none), embeddings(minilm))
    names = [name for name, _ in minilm.network.named_parameters() if "layer.3" in name]
    state, other = minilm.network.state_dict(), kept.network.state_dict()
    assert not any(torch.equal(state[n], other[n]) for n in names if n.endswith("query.weight"))


def test_a_run(minilm: Model, tmp_path: Path) -> None:
    tour = corpus_of(list(read("tour"))[::2], "tour")  # of every document, or there is no interval

    def run() -> hs.RunResults:
        return hs.probe(
            minilm, tour, tour, out=tmp_path / "run", seeds=2, labels=True, progress=NoProgress()
        )

    results = run()
    rows = {(row.probe, row.weights, row.measure): row for row in results.rows(PROBES)}
    uas = {key[:2]: row.value for key, row in rows.items() if key[2] == "UAS"}
    assert uas["attention and words", "trained"] > uas["attention", "trained"]
    assert uas["attention", "trained"] > uas["right-branching", "none"] > 0.1
    for row in rows.values():
        assert row.low is not None
        assert row.high is not None
        assert row.low <= row.value <= row.high
    both = ("attention", "trained")
    gap = rows[(*both, "UAS")].value - rows[(*both, "control")].value
    assert rows[(*both, "selectivity")].value == pytest.approx(gap)
    assert rows[(*both, "LAS")].value < rows[(*both, "UAS")].value
    assert run().table("probes").equals(results.table("probes"))
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Clark et al." in page
    with pytest.raises(HeadscopeError, match="treebank"):
        hs.probe(minilm, read("tour-pairs"), tour, progress=NoProgress())


def test_results_of_jobs_survive_the_run_folder() -> None:
    rng, total, given = np.random.default_rng(0), ShardResult(), {}
    for job in JOBS:
        use = Tally.of(rng.random((8, 2, 3, 2)), np.ones((8, 2, 1, 2)))
        given[job] = JobResult(rng.random((5, 4)), rng.random(3), use if job.measures_use else None)
        part = ShardResult()
        given[job].store(job, part)
        total.merge(part)
    kept = ShardResult.from_arrays(total.arrays())
    for job, result in given.items():
        restored = JobResult.restore(job, kept)
        assert np.array_equal(restored.counts, result.counts)
        assert np.array_equal(restored.by_seed, result.by_seed)
        assert (restored.use is None) == (result.use is None)
        if restored.use and result.use:
            assert np.array_equal(restored.use.sums, result.use.sums)
    assert sum(result.use is not None for result in given.values()) == 2


def test_a_folder_that_is_gone_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="does not exist"), temporary_file(tmp_path / "gone"):
        pass


def test_vectors(tmp_path: Path) -> None:
    text = tmp_path / "v.txt.gz"
    with gzip.open(text, "wt", encoding="utf-8") as file:
        file.write("2 3\ncat 1 2 3\ndog 4 5 6\n")
    found = read_vectors(text, {"Cat", "cow"})
    assert found.of(["Cat", "cow", "dog"]).tolist() == [[1, 2, 3], [0, 0, 0], [0, 0, 0]]
    np.savez(tmp_path / "v.npz", words=np.array(["cat"]), vectors=np.ones((1, 3), np.float16))
    assert read_vectors(tmp_path / "v.npz", {"cat"}).of(["cat"]).tolist() == [[1, 1, 1]]
    (tmp_path / "w.txt").write_text("cat 1 2\ndog 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: 1 numbers instead of 2"):
        read_vectors(tmp_path / "w.txt", {"cat"})
    np.savez(tmp_path / "x.npz", words=np.array(["cat", "dog"]), vectors=np.ones((1, 3)))
    with pytest.raises(InputError, match="2 words"):
        read_vectors(tmp_path / "x.npz", {"cat"})
    assert isinstance(found, WordVectors)


def test_own_vectors_are_the_mean_of_pieces() -> None:
    model = tiny("bert")
    table = embeddings(model)
    (one,) = own_vectors(model, ["kaka"])
    ids = model.tokenizer("kaka", add_special_tokens=False)["input_ids"]
    torch.testing.assert_close(one, table[ids].mean(0))
