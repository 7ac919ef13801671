"""A real translation model: alignment heads, translations without heads, a smaller model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import headscope as hs
from headscope._util.progress import NoProgress
from headscope.corpus import Example, read
from headscope.errors import HeadscopeError
from headscope.evidence import HEADS
from headscope.experiments._shared.loss_gradients import BATCH, gradients_of_loss
from headscope.experiments.ablation.tables import ABLATION
from headscope.experiments.relevance.tables import score_parts
from headscope.model import Model, disable, load, scale_heads
from headscope.report.page import render
from headscope.runs import RunResults
from headscope.tasks.translation import Translation, translate
from tests.commands import run_headscope

OFF = "encoder L0.H6,decoder L1.H3,cross L2.H4,cross L1"
SIZE = 32
"""Of a head."""


@pytest.fixture(scope="module")
def folder(models: Path) -> Path:
    return models / "tatoeba-de-en-small"


@pytest.fixture(scope="module")
def translator(folder: Path) -> Model:
    return load(folder)


@pytest.fixture(scope="module")
def gold(data: Path) -> Path:
    return data / "alignments" / "tatoeba_de_en_hand.jsonl"


@pytest.fixture(scope="module")
def pairs(data: Path) -> str:
    return f"{data / 'parallel' / 'test.tsv.gz'}"


@pytest.fixture(scope="module")
def scanned(translator: Model, gold: Path) -> RunResults:
    only = ["focus", "alignment", "relative_position", "value_norms"]
    return hs.scan(translator, read(f"parallel:{gold}"), only=only, progress=NoProgress())


def edited_by_hand(folder: Path) -> Any:
    """The model with the columns of the heads in `OFF` at zero."""
    network: Any = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    encoder, decoder = network.model.encoder.layers, network.model.decoder.layers
    with torch.no_grad():
        for attention, head in (
            (encoder[0].self_attn, 6),
            (decoder[1].self_attn, 3),
            (decoder[2].encoder_attn, 4),
            *((decoder[1].encoder_attn, head) for head in range(8)),
        ):
            attention.out_proj.weight[:, head * SIZE : (head + 1) * SIZE] = 0
    return network


def test_every_number_says_its_kind_of_attention(scanned: RunResults) -> None:
    kinds = {row.attention for row in scanned.rows(HEADS, analysis="focus")}
    assert kinds == {"encoder", "decoder", "cross"}
    of_places = {row.attention for row in scanned.rows(HEADS, analysis="relative_position")}
    assert of_places == {"encoder", "decoder"}
    left_out = scanned.record.left_out["tatoeba_de_en_hand"]
    assert "decoder and encoder" in left_out["relative_position of cross attention"]
    with pytest.raises(HeadscopeError, match="say which attention"):
        scanned.best("focus", statistic="entropy")
    assert scanned.best("focus", statistic="entropy", attention="cross").row.attention == "cross"


def test_an_alignment_head_beats_the_diagonal(scanned: RunResults) -> None:
    best = scanned.best("alignment", "attention", statistic="aer", direction="output")
    assert (best.layer, best.head) == (2, 4)
    assert best.row.high is not None
    assert best.row.baseline is not None
    assert best.value < best.row.high < best.row.baseline
    assert best.row.sure


def test_the_page_has_a_view_for_each_kind(scanned: RunResults) -> None:
    page = render([scanned])
    for kind in ("encoder", "decoder", "cross"):
        assert f"tatoeba-de-en-small on tatoeba_de_en_hand, {kind} attention" in page
    assert 'data-head="cross L2.H4"' in page


def test_translations_without_heads_are_those_of_edited_weights(
    translator: Model, folder: Path, pairs: str
) -> None:
    edited, tokenizer = edited_by_hand(folder), AutoTokenizer.from_pretrained(folder)
    texts = [example.text for example in read(f"parallel:{pairs}", limit=40)]
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    speaker: Any = translator.whole
    for beams in (1, 3):
        expected = edited.generate(**inputs, num_beams=beams, do_sample=False)
        with disable(translator, OFF, "zero"):
            found = speaker.generate(**inputs, num_beams=beams, do_sample=False)
        assert torch.equal(found, expected)
        assert not torch.equal(found, speaker.generate(**inputs, num_beams=beams, do_sample=False))


def test_a_smaller_model_says_the_same_with_a_cache_and_without(
    translator: Model, pairs: str, tmp_path: Path
) -> None:
    smaller = hs.remove(translator, OFF)
    from headscope.model import save

    save(smaller, tmp_path)
    loaded: Any = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, trust_remote_code=True)
    batch = translator.batch(translator.encode(list(read(f"parallel:{pairs}", limit=24))))
    given = {"input_ids": batch.ids, "attention_mask": batch.real.long()}
    with disable(translator, OFF, "zero"):
        expected = translate(translator, given)
    assert translate(load(tmp_path), given) == expected
    for cached in (True, False):
        said = loaded.generate(**given, num_beams=1, do_sample=False, use_cache=cached)
        texts = translator.tokenizer.batch_decode(said, skip_special_tokens=True)
        assert texts == expected


def test_importance_of_all_kinds_is_what_finite_differences_give(
    translator: Model, pairs: str
) -> None:
    task = hs.task(f"translate-loss:{pairs}", limit=4)
    (batch,) = task.batches(translator, task.cases(translator, task.examples, None), BATCH)
    gates = gradients_of_loss(translator, task, batch, attention=False).gates
    step = 1e-2
    for number, head in ((1, 2), (4, 5), (8, 4)):
        losses = []
        for sign in (1, -1):
            values = torch.ones(9, 1, 8)
            values[number, 0, head] += sign * step
            with scale_heads(translator, values), torch.no_grad():
                losses.append(task.losses(translator, batch, batch.inputs(translator)).double())
        expected = (losses[0] - losses[1]) / (2 * step)
        assert torch.allclose(gates[:, number, head].double(), expected, atol=2e-3)


def test_relevance_is_conserved_through_both_stacks(translator: Model, pairs: str) -> None:
    task = hs.task(f"translate-loss:{pairs}", limit=20)
    parts = score_parts(hs.relevance(translator, task, progress=NoProgress()))
    assert len(parts) == 9
    for each in parts:
        whole = each.heads + each.residual + each.biases + each.epsilon + each.elsewhere
        assert whole == pytest.approx(1, abs=1e-4)


def test_bleu_without_a_layer_is_that_of_translations_without_it(
    translator: Model, pairs: str
) -> None:
    task = hs.task(f"translate:{pairs}", limit=24)
    assert isinstance(task, Translation)
    results = hs.ablate(
        translator, task, heads=["cross L2", "encoder L1.H0"], how="zero", progress=NoProgress()
    )
    rows = {row.name: row for row in results.rows(ABLATION, metric="BLEU")}
    cases = task.cases(translator, task.examples, None)
    from sacrebleu.metrics.bleu import BLEU

    for name, row in rows.items():
        said = [""] * len(cases)
        with disable(translator, name, "zero"):
            for batch in task.batches(translator, cases, BATCH):
                answers = translate(translator, batch.inputs(translator))
                for place, answer in zip(batch.places, answers, strict=True):
                    said[place] = answer
        wanted = [case.example.translation for case in cases]
        references = [one.text for one in wanted if one is not None]
        score = BLEU().corpus_score(said, [references]).score / 100
        assert row.value == pytest.approx(score, abs=5e-3)
    assert rows["cross L2"].delta < -0.2


def test_the_command_line_translates_first_or_reads_one_side(
    folder: Path, pairs: str, tmp_path: Path
) -> None:
    texts = [example.text for example in read(f"parallel:{pairs}", limit=30)]
    (tmp_path / "some.txt").write_text("\n".join(texts), encoding="utf-8")
    scan = ["scan", str(folder), "some.txt", "--only", "focus,alignment"]
    alone = run_headscope([*scan, "-o", "alone"], tmp_path)
    assert alone.returncode == 0
    assert "the corpus has no translations" in alone.stderr
    assert RunResults.read(tmp_path / "alone").record.corpora[0].attention == "encoder"
    spoken = run_headscope([*scan, "-o", "spoken", "--generate"], tmp_path)
    assert spoken.returncode == 0
    results = RunResults.read(tmp_path / "spoken")
    assert {row.attention for row in results.rows(HEADS)} == {"encoder", "decoder", "cross"}
    assert results.best("alignment", statistic="agreement", direction="output").value > 0.5


def test_what_is_not_for_it_is_refused(translator: Model, pairs: str) -> None:
    with pytest.raises(HeadscopeError, match="is not for models with an encoder and a decoder"):
        hs.ablate(translator, hs.task("tour", limit=12), progress=NoProgress())
    with pytest.raises(HeadscopeError, match="cannot handle yet"):
        hs.look(translator, "Guten Tag")
    with pytest.raises(HeadscopeError, match="has no encoder and decoder"):
        hs.importance("minilm", f"translate-loss:{pairs}", progress=NoProgress())


def test_words_of_a_text_are_found_in_it(translator: Model, gold: Path) -> None:
    for example in read(f"parallel:{gold}", limit=30):
        (pieces,) = translator.encode([example])
        for side in pieces.sides:
            for word, name in enumerate(side.words):
                ids = side.ids[side.word == word].tolist()
                assert str(translator.tokenizer.decode(ids)).strip() == name
        assert isinstance(example, Example)
        assert np.all(pieces.word[~pieces.special] >= 0)
