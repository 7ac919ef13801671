"""The live page: what it answers, whom it answers, and how it works in a real browser."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, Page
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
)

import headscope as hs
from headscope.explorer.page import explorer_page
from headscope.explorer.server import MOST, Explored, make_app
from headscope.model import Model, Top, disable, wrap
from headscope.tasks.translation import translate
from headscope.testing import tiny_tokenizer
from tests.families import family_network

TEXT = "The new vaccine is not safe for young children."
OTHER = "The new vaccine is safe for young children."
PORT = 8123
HOST = {"host": f"127.0.0.1:{PORT}", "origin": f"http://127.0.0.1:{PORT}"}
HOSTILE = "<script>window.hacked=1</script>"


def client_of(model: Model, top: Top = Top.NONE) -> TestClient:
    page = explorer_page([{"name": model.name, "top": top}], [])
    app = make_app({model.name: Explored(model, top)}, page, "secret", PORT)
    return TestClient(app, headers=HOST)


def ask(client: TestClient, model: Model, **more: Any) -> dict[str, Any]:
    response = client.post("/secret/answer", json={"model": model.name, "text": TEXT} | more)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def maps_of(told: dict[str, Any], stack: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """By head, (query, key) weights."""
    levels = np.frombuffer(zlib.decompress(base64.b64decode(told["maps"])), np.uint8) / 255
    one = told["stacks"][stack]
    shape = (len(one["text"]["queries"]), len(one["text"]["tokens"]))
    places = zip(one["heads"], one["text"]["at"], strict=True)
    return {head: levels[at : at + shape[0] * shape[1]].reshape(shape) for head, at in places}


def test_maps_are_those_of_a_look(minilm: Model) -> None:
    seen, told = hs.look(minilm, TEXT), ask(client_of(minilm), minilm)
    maps = maps_of(told)
    assert list(maps) == [f"L{layer}.H{head}" for layer in range(6) for head in range(12)]
    assert told["stacks"][0]["text"]["tokens"] == list(seen.tokens)
    for layer, head in ((0, 2), (5, 9)):
        np.testing.assert_allclose(maps[f"L{layer}.H{head}"], seen.head(layer, head), atol=0.003)
    rolled = maps_of(ask(client_of(minilm), minilm, weights="rollout"))
    np.testing.assert_allclose(rolled["L3.H0"], seen.rollout()[3], atol=0.003)
    normed = maps_of(ask(client_of(minilm), minilm, weights="norm"))
    assert np.abs(normed["L4.H3"] - maps["L4.H3"]).max() > 0.05


def cosine(model: Model) -> float:
    """Of the two texts, by the slow way."""
    means = []
    for text in (TEXT, OTHER):
        inputs = model.tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            means.append(model.network(**inputs)[0][0].mean(0))
    first, second = means
    return float(torch.nn.functional.cosine_similarity(first, second, dim=0))


def test_similarity_with_heads_on_and_off(minilm: Model) -> None:
    told = ask(client_of(minilm), minilm, others=[OTHER], off=["L5.H9", "L3"])
    assert told["before"]["values"][OTHER] == pytest.approx(cosine(minilm), abs=1e-5)
    with disable(minilm, "L5.H9,L3"):
        expected = cosine(minilm)
    assert told["now"]["values"][OTHER] == pytest.approx(expected, abs=1e-5)
    assert abs(expected - cosine(minilm)) > 0.01


@pytest.mark.parametrize(
    ("family", "auto", "top", "title"),
    [
        ("bert", AutoModelForMaskedLM, Top.MASKED_LM, "masked word"),
        ("bert", AutoModelForSequenceClassification, Top.CLASSIFIER, "label"),
        ("gpt2", AutoModelForCausalLM, Top.CAUSAL_LM, "next token"),
    ],
)
def test_predictions_are_the_models_own(family: str, auto: Any, top: Top, title: str) -> None:
    torch.manual_seed(0)
    tokenizer = tiny_tokenizer(decoder=family == "gpt2")
    if top is Top.MASKED_LM:
        tokenizer.mask_token = tokenizer.unk_token
    whole = auto.from_config(family_network(family).config).eval()
    model = wrap(whole, tokenizer, "tiny")
    text = f"ab cd {tokenizer.mask_token or 'ef'}"
    told = ask(client_of(model, top), model, text=text)
    assert told["now"]["title"] == title
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.inference_mode():
        logits = whole(input_ids=ids).logits[0]
    if top is Top.MASKED_LM:
        logits = logits[ids[0].tolist().index(tokenizer.mask_token_id)]
    elif top is Top.CAUSAL_LM:
        logits = logits[-1]
    best = float(logits.softmax(-1).max())
    assert max(told["now"]["values"].values()) == pytest.approx(best, abs=1e-4)


def test_a_translator_shows_all_kinds(models: Path) -> None:
    model = hs.load(models / "tatoeba-de-en-small")
    client = client_of(model)
    told = ask(client, model, text="Der Hund schläft.")
    assert [one["kind"] for one in told["stacks"]] == ["encoder", "decoder", "cross"]
    assert "dog" in told["now"]["said"]
    cross = maps_of(told, 2)["cross L2.H4"]
    assert cross.shape[1] == len(told["stacks"][0]["text"]["tokens"])
    np.testing.assert_allclose(cross.sum(1), 1, atol=0.03)
    off = ["cross L0", "cross L1", "cross L2"]
    changed = ask(client, model, text="Der Hund schläft.", off=off)
    assert changed["now"]["said"] != told["now"]["said"] == changed["before"]["said"]
    inputs = model.tokenizer("Der Hund schläft.", return_tensors="pt")
    with disable(model, off):
        assert translate(model, dict(inputs)) == [changed["now"]["said"]]


def test_only_its_own_page_is_answered(minilm: Model) -> None:
    client = client_of(minilm)
    question = {"model": minilm.name, "text": "a"}
    assert client.get("/secret/").status_code == 200
    assert client.get("/").status_code == 404
    assert client.get("/wrong/").status_code == 404
    assert client.get("/secret/", headers={"host": "evil.example"}).status_code == 403
    for origin in ("https://evil.example", "null", ""):
        answer = client.post("/secret/answer", json=question, headers={"origin": origin})
        assert answer.status_code == 403
    header = client.get("/secret/").headers
    assert header["cache-control"] == "no-store"
    assert "connect-src &#39;self&#39;" in client.get("/secret/").text


@pytest.mark.parametrize(
    ("question", "status", "words"),
    [
        ({"text": "a"}, 422, "model"),
        ({"model": "minilm", "text": ""}, 422, "write a text first"),
        ({"model": "minilm", "text": "x" * 5000}, 422, "more than 4,000 characters"),
        ({"model": "minilm", "text": "a", "weights": "all"}, 422, "weights"),
        ({"model": "other", "text": "a"}, 404, "no such model"),
        ({"model": "minilm", "text": "a", "off": ["L9.H9"]}, 400, "L9"),
        ({"model": "minilm", "text": "word " * 700}, 400, "pieces"),
        ({"model": "minilm", "text": "a", "others": ["b" * 70000]}, 413, "too large"),
    ],
)
def test_bad_questions_get_a_sentence(
    minilm: Model, question: dict[str, Any], status: int, words: str
) -> None:
    answer = client_of(minilm).post("/secret/answer", json=question)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_too_many_questions_have_to_wait(minilm: Model) -> None:
    client = client_of(minilm)
    statuses = [
        client.post("/secret/answer", json={"model": "other", "text": "a"}).status_code
        for _ in range(MOST + 1)
    ]
    assert statuses == [404] * MOST + [429]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A live page with the bundled model and a tiny one beside it."""
    other = tmp_path_factory.mktemp("models") / "tiny"
    family_network("bert").save_pretrained(other)
    tiny_tokenizer().save_pretrained(other)
    command = [sys.executable, "-m", "headscope", "explore", "minilm", "--no-browser"]
    command += ["--beside", str(other)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://\S+", line):
                yield found[0]
                break
        process.terminate()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    yield opened
    opened.close()


def test_in_a_browser(page: Page, address: str) -> None:
    complaints: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.wait_for_selector("#board canvas")
    assert page.locator("#board canvas").count() == 72
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    page.locator('[data-head="L5.H9"]').click()
    page.keyboard.press("o")
    page.wait_for_selector('[data-head="L5.H9"].off')
    title = page.locator("#headline").inner_text()
    assert title == f"Without L5.H9, the similarity to “{OTHER}” moves from 0.900 to 0.966"
    assert " to " in page.locator("#prediction").inner_text()
    page.locator("#mode button").nth(1).click()
    page.locator('[data-head="L0.H2"]').click()
    page.wait_for_selector('[data-head="L0.H2"].off')
    shared = page.url
    page.locator("#all-on").click()
    page.wait_for_function("() => !document.querySelector('.off')")
    page.goto("about:blank")
    page.goto(shared)  # the address is the state
    page.wait_for_selector('[data-head="L0.H2"].off')
    page.locator("#text").fill(f"{HOSTILE} sat down")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#head').innerText.includes('script')")
    page.locator("#second-text").fill(f"Another {HOSTILE}")
    page.locator("#beside button").click()
    page.wait_for_selector("#second canvas")
    page.select_option("#second-model", "tiny")
    page.locator("#beside button").click()
    page.wait_for_function("() => document.querySelector('#second').innerText.includes('of tiny')")
    assert page.locator("#second .board .cell").count() == 2 * 4
    shared = page.url
    page.locator("#text").fill("")
    page.keyboard.press("Enter")
    page.locator("#shown.stale").wait_for()  # what is shown is not of this text
    assert page.locator("#refused").inner_text() == "Nothing to show: write a text first."
    page.goto("about:blank")
    page.goto(shared)
    page.wait_for_selector("#second canvas")  # what is beside is part of the state
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert {url.split("/")[2] for url in requests if url.startswith("http")} == {
        address.split("/")[2]
    }
    assert complaints == []
