"""The report in a real browser: it renders, a click works, nothing leaves it, text stays text."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import tokenizers as tk
import vl_convert
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page
from rich.console import Console
from transformers import BertConfig, PreTrainedTokenizerFast

from headscope._util.progress import NoProgress
from headscope.analyses._linking.section import relations
from headscope.cli.show import Screen
from headscope.corpus import Example, Frame, Link, Mention, read
from headscope.errors import HeadscopeError
from headscope.evidence import Unit
from headscope.experiments.ablation import ablate
from headscope.experiments.ablation.tables import ABLATION
from headscope.experiments.compare import compare
from headscope.experiments.importance import importance
from headscope.experiments.importance.tables import IMPORTANCE
from headscope.experiments.look import look
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model, wrap
from headscope.report.charts import head_datum
from headscope.report.drawings import heat_map, spec
from headscope.report.joined import what_next
from headscope.report.page import sections_of, write_report
from headscope.report.views import CorpusView
from headscope.runs import RunResults
from headscope.tasks import task
from headscope.testing import SIZES, tiny_network, tiny_tokenizer
from tests.tiny import network
from tests.unit.examples import corpus_of

SCRIPT = "<script>window.hacked=1</script>"
IMAGE = '"><img/src=x/onerror="window.hacked=1">'
BREAK = "</script><script>window.hacked=1</script>"
HOSTILE = [SCRIPT, IMAGE, BREAK, "{{7*7}}", "\u2028", "'-window.hacked-'"]
DRAWN = """() => {
  const places = [...document.querySelectorAll("[data-page]:not([hidden]) .chart")];
  return places.length > 0 && places.every((place) => place.querySelector("svg"));
}"""
SERIOUS = ("serious", "critical")
PLACE = ("tour", "trained", "dependencies")


def hostile_model() -> Model:
    """A model whose very tokens are attacks."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *HOSTILE, "a", "b", "c", "."]
    core = tk.Tokenizer(tk.models.WordLevel({n: i for i, n in enumerate(names)}, unk_token="[UNK]"))
    core.pre_tokenizer = tk.pre_tokenizers.WhitespaceSplit()
    core.post_processor = tk.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, sep_token="[SEP]", **special)
    return wrap(network("bert"), tokenizer, f"model {IMAGE}")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = ("a", SCRIPT, "b", IMAGE, "c", BREAK, "{{7*7}}", ".")
    examples = [
        Example(
            f"{BREAK}{n}",
            words=words,
            heads=(1, -1, 1, 2, 3, 3, 1, 1),
            relations=(IMAGE, "root", SCRIPT, BREAK, "obj", "{{7*7}}", "nsubj", "punct"),
            mentions=(Mention(1, 2, IMAGE), Mention(5, 6, IMAGE)),
            frames=(Frame(SCRIPT, 1, ((IMAGE, 5, 6),)),),
            links=(Link(1, 5, BREAK),),
        )
        for n in range(30)
    ]
    corpus = corpus_of(examples, name=f"corpus {SCRIPT}")
    results = scan(
        hostile_model(),
        corpus,
        settings=Settings(min_count=10),
        progress=NoProgress(),
        command=["headscope", BREAK],
    )
    return write_report([results], tmp_path_factory.mktemp("hostile") / "report.html")


@pytest.fixture(scope="module")
def demo(minilm: Model) -> RunResults:
    settings = Settings(random_weights=True, min_count=20)
    return scan(minilm, read("tour"), settings=settings, progress=NoProgress())


@pytest.fixture(scope="module")
def page_of_demo(demo: RunResults, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo.report(tmp_path_factory.mktemp("demo") / "report.html")


class Visit:
    """A page that is open, with everything that it asked for and complained of."""

    def __init__(
        self,
        browser: Browser,
        path: Path,
        width: int = 1280,
        wait: str = "#glance .cell",
        at: str = "",
    ) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900})
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text)
                if message.type in ("error", "warning")
                else None
            ),
        )
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + at)
        self.page.wait_for_selector(wait, state="attached")


def test_the_first_screen_says_what_the_heads_do(browser: Browser, page_of_demo: Path) -> None:
    visit = Visit(browser, page_of_demo)
    page = visit.page
    assert "of minilm's 72 heads follow language" in page.locator("h1").first.inner_text()
    assert page.locator("#glance .cell").count() == 72
    assert page.locator("#glance .cell.kind-syntax").count() >= 1
    findings = page.locator(".finding")
    assert findings.count() >= 4
    assert "baseline" in findings.first.inner_text()
    page.locator('#glance .cell[data-head="L0.H2"]').hover()
    assert "looks most at the token before" in page.locator(".peek").inner_text()
    page.locator("#glance .segments button", has_text="Maps").click()
    assert page.locator("#glance .cell canvas").count() == 72
    page.locator("#glance .legend button", has_text="syntax").click()
    assert page.locator("#glance .cell.dim").count() > 60
    assert visit.requests == [page_of_demo.as_uri()]  # the file itself and nothing else
    assert visit.complaints == []


def test_a_click_leads_to_the_head_and_its_examples(browser: Browser, page_of_demo: Path) -> None:
    visit = Visit(browser, page_of_demo)
    page = visit.page
    page.locator('#glance .cell[data-head="L2.H8"]').click()
    page.wait_for_selector("#head-page .board-of-map canvas")
    assert page.url.endswith("#L2.H8")
    assert page.locator("#head-page h1").inner_text().startswith("L2.H8 leads")
    page.wait_for_selector("#head-page figure.arcs path.right")
    assert page.locator("#head-page figure.arcs").count() == 6
    assert "leads auxiliaries" in page.locator("#head-examples option").first.inner_text()
    assert page.locator("#head-page .evidence", has_text="leads prepositions").count() == 1
    assert page.locator("#head-numbers tr").count() > 10
    assert page.locator("#head-page .relative").count() == 6
    before = page.locator(".map .rows").inner_text()
    page.select_option("#head-text", "1")
    page.wait_for_function(
        "before => document.querySelector('.map .rows').innerText !== before", arg=before
    )
    page.locator(".board-of-map").focus()
    page.keyboard.press("ArrowRight")
    assert "looks at" in page.locator(".said").first.inner_text()
    page.locator(".crumbs a", has_text="L2.H9").click()
    page.wait_for_function("document.querySelector('#head-page h1').innerText.startsWith('L2.H9')")
    page.go_back()
    page.wait_for_function("document.querySelector('#head-page h1').innerText.startsWith('L2.H8')")
    assert visit.complaints == []


def test_a_link_and_the_search_lead_to_a_head(browser: Browser, page_of_demo: Path) -> None:
    visit = Visit(browser, page_of_demo, at="#L1.H8")
    visit.page.wait_for_selector("#head-page h1")
    assert visit.page.locator("#head-page h1").inner_text().startswith("L1.H8")
    visit.page.goto(f"{page_of_demo.as_uri()}#overview")
    visit.page.wait_for_selector("#overview:not([hidden])")
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("auxiliaries")
    assert "L2.H8" in visit.page.locator("#found").inner_text()
    assert visit.page.locator("#glance .cell.dim").count() > 60
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#head-page h1")
    visit.page.locator("#search").fill("nsubj")
    visit.page.locator("#found a", has_text="nsubj").first.click()
    visit.page.wait_for_selector("[id$='-dependencies']:not([hidden])")
    assert visit.complaints == []


def test_an_experiment_without_maps_renders(
    browser: Browser, minilm: Model, tmp_path: Path
) -> None:
    results = importance(minilm, "tour", progress=NoProgress())
    visit = Visit(browser, results.report(tmp_path / "report.html"))
    page = visit.page
    assert "is the most important head" in page.locator("h1").first.inner_text()
    page.locator("nav a", has_text="Importance").first.click()
    page.wait_for_selector("#view-0-importance:not([hidden])")
    assert "Heads are ranked by importance" in page.inner_text("main")
    page.locator("[data-page]:not([hidden]) .values .cell").last.click()
    page.wait_for_selector("#head-numbers")
    assert page.locator("#head-numbers tr").count() > 2
    assert visit.complaints == []


def test_the_table_sorts_and_filters(browser: Browser, page_of_demo: Path) -> None:
    page = Visit(browser, page_of_demo, at="#heads").page
    table = page.locator("table.heads")
    assert table.locator("tbody tr").count() == 72
    table.locator("th button", has_text="attention to the previous token").click()
    assert table.locator("tbody tr").first.get_attribute("data-head") == "L0.H2"
    page.locator(".filter").fill("positional")
    assert table.locator("tbody tr").count() == 2
    table.locator("tbody tr").first.locator("td").nth(1).click()
    page.wait_for_selector("#head-page h1")


def test_views_switch_between_trained_and_random(browser: Browser, page_of_demo: Path) -> None:
    visit = Visit(browser, page_of_demo)
    visit.page.select_option("#view", label="minilm with random weights on tour")
    assert "0 of" not in visit.page.locator("h1").first.inner_text()
    assert visit.page.locator("#glance .cell").count() == 72
    assert visit.page.locator("#glance .cell.kind-syntax").count() == 0
    assert visit.complaints == []


def test_a_view_keeps_its_page_and_its_heads(browser: Browser, page_of_demo: Path) -> None:
    """Choosing another model shows the same page of it, and addresses name the model."""
    visit = Visit(browser, page_of_demo, at="#view-0-dependencies")
    page = visit.page
    page.select_option("#view", label="minilm with random weights on tour")
    page.wait_for_selector("#view-1-dependencies:not([hidden])")
    assert "For none of" in page.locator("#view-1-dependencies h1").inner_text()
    assert page.locator("#view option:checked").inner_text() == "minilm with random weights on tour"
    page.locator("#view-1-dependencies button.head").first.click()
    page.wait_for_selector("#head-page h1")
    assert page.url.endswith("@1")
    assert "random weights" in page.locator("#lead").inner_text()
    page.goto(f"{page_of_demo.as_uri()}#L2.H8@1")
    page.wait_for_function("document.querySelector('#head-page h1').innerText.startsWith('L2.H8')")
    assert "auxiliaries" not in page.locator("#head-page h1").inner_text()
    page.goto(f"{page_of_demo.as_uri()}#L2.H8")
    page.wait_for_function("document.querySelector('#head-page h1').innerText.includes('auxil')")
    page.goto(f"{page_of_demo.as_uri()}#L9.H9")
    page.wait_for_selector("#missing:not([hidden])")
    assert page.locator("#missing").inner_text() == "Nothing here is called L9.H9."
    assert visit.complaints == []


def test_the_search_knows_words_and_says_when_it_finds_nothing(
    browser: Browser, page_of_demo: Path
) -> None:
    page = Visit(browser, page_of_demo).page
    for words, found in (("subjects", "nsubj"), ("l1h1", "L1.H1"), ("xyzzy", "Nothing is called")):
        page.locator("#search").fill(words)
        assert found in page.locator("#found").inner_text()
    assert page.locator("#glance .cell.dim").count() == 0  # nothing was found: nothing is dimmed


def test_what_all_runs_say_together(minilm: Model) -> None:
    """Ranks in the joined table are those of each run's own numbers."""
    graded = task("tour", limit=24)
    important = importance(minilm, graded, progress=NoProgress())
    ablated = ablate(minilm, graded, progress=NoProgress())
    (joined, *_) = sections_of([important, ablated])
    assert joined.menu == "What matters"
    assert joined.on_overview
    assert joined.columns[2:] == (
        "Spearman when off (tour)",
        "Pearson when off (tour)",
        "importance (tour)",
    )
    lost = {row.name: -row.delta for row in ablated.rows(ABLATION, metric="Spearman", unit="head")}
    rank = {row.rank: (row.layer, row.head) for row in important.rows(IMPORTANCE)}
    by_name = {str(cells[0]): cells for cells in joined.rows}
    assert len(by_name) == 72
    first = max(lost, key=lambda name: lost[name])
    assert str(by_name[first][2]) == "1"
    assert str(by_name["L{}.H{}".format(*rank[1])][4]) == "1"
    missed = [row.name for row in ablated.rows(ABLATION, unit="head") if row.verdict == "helps"]
    assert joined.count == f"{len(set(missed))} of 72"
    (agreement,) = joined.below
    assert len(agreement.rows) == 3
    commands = [step.command for step in what_next([important, ablated])]
    assert any(command.startswith("headscope prune minilm tour") for command in commands)


def test_a_scan_of_144_heads_fits_a_page(tmp_path: Path) -> None:
    sizes = {"hidden_size": 48, "num_hidden_layers": 12, "num_attention_heads": 12}
    model = wrap(tiny_network(BertConfig(**dict(SIZES) | sizes)), tiny_tokenizer(), "large")
    settings = Settings(min_count=20, max_length=60, random_weights=True)
    results = scan(model, read("tour"), settings=settings, progress=NoProgress())
    assert results.report(tmp_path / "report.html").stat().st_size < 5_000_000


def test_every_section_is_drawn_when_it_is_opened(browser: Browser, page_of_demo: Path) -> None:
    visit = Visit(browser, page_of_demo)
    page = visit.page
    assert page.locator(".chart svg").count() == 0  # nothing before it is looked at
    for link in page.locator("nav a:visible").all():
        link.click()
        page.evaluate("window.scrollTo(0, 1e6)")
        page.wait_for_timeout(30)
    page.locator("nav a", has_text="Relative position").first.click()
    page.wait_for_function(DRAWN)
    assert visit.complaints == []


def test_a_hostile_corpus_stays_text(browser: Browser, hostile: Path) -> None:
    visit = Visit(browser, hostile)
    page = visit.page
    assert SCRIPT in page.locator("#lead").inner_text()
    page.locator("#glance .cell").nth(5).click()
    page.wait_for_selector(".board-of-map canvas")
    assert "window.hacked" in page.locator(".map .rows").inner_text()
    page.locator(".board-of-map").hover()
    assert BREAK in page.locator("#head-note").inner_text()
    page.goto(f"{hostile.as_uri()}#view-0-dependencies")
    page.wait_for_selector("#view-0-dependencies:not([hidden])")
    assert SCRIPT in (page.locator("figure.arcs svg").first.text_content() or "")
    assert IMAGE in page.locator("#view-0-dependencies table").first.inner_text()
    page.locator("#search").fill("window")
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("img").count() == 0
    assert page.locator("body script").count() == 5  # four of data, and ours
    assert set(visit.requests) == {hostile.as_uri()}
    assert visit.complaints == []


def test_the_policy_blocks_what_is_not_ours(browser: Browser, hostile: Path) -> None:
    page = Visit(browser, hostile).page
    page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        "document.body.append(s); document.body.insertAdjacentHTML("
        "'beforeend', '<img src=x onerror=\"window.hacked=1\">')"
    )
    page.wait_for_timeout(300)
    assert page.evaluate("typeof window.hacked") == "undefined"


@pytest.mark.parametrize("at", ["#overview", "#L2.H8", "#heads", "#run"])
def test_on_a_phone_nothing_but_tables_and_charts_scrolls(
    browser: Browser, page_of_demo: Path, at: str
) -> None:
    page = Visit(browser, page_of_demo, width=390, at=at).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#menu summary").click()
    assert page.locator("nav a", has_text="Relations").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("at", ["#overview", "#L2.H8", "#view-0-dependencies"])
def test_everybody_can_read_it(
    browser: Browser, page_of_demo: Path, at: str, scheme: Literal["light", "dark"]
) -> None:
    """No serious complaint by axe-core: contrast, labels, keyboard."""
    page = Visit(browser, page_of_demo, at=at).page
    page.emulate_media(color_scheme=scheme)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS] == []


def test_a_look_at_one_text(browser: Browser, minilm: Model, tmp_path: Path) -> None:
    seen = look(minilm, f"The cat {SCRIPT} sat down.", pair=IMAGE)
    assert seen.maps.shape[:2] == (6, 12)
    np.testing.assert_allclose(seen.maps.sum(-1), 1, atol=1e-5)
    assert "srcdoc" in seen._repr_html_()
    path = seen.save(tmp_path / "look.html")
    visit = Visit(browser, path, wait="#glance .cell canvas")
    assert visit.page.locator("#glance canvas").count() == 72
    visit.page.locator("#glance .cell").nth(2).click()
    visit.page.wait_for_selector(".board-of-map canvas")
    assert visit.page.locator("#head-page h1").inner_text().startswith("L0.H2")
    assert visit.page.evaluate("typeof window.hacked") == "undefined"
    assert visit.requests == [path.as_uri()]
    assert visit.complaints == []


def test_a_widget_for_notebooks(browser: Browser, minilm: Model, demo: RunResults) -> None:
    """As a notebook does it: the module is imported, and given a model and a place."""
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    complaints, requests = list[str](), list[str]()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    for shown in (look(minilm, f"The cat {SCRIPT} sat down.").widget(), demo.widget()):
        page.set_content("<style id=style></style><h1 id=other>A notebook</h1><div id=place></div>")
        page.evaluate(
            """async ([script, style, packed]) => {
              document.getElementById("style").textContent = style;
              const address = URL.createObjectURL(new Blob([script], {type: "text/javascript"}));
              const module = await import(address);
              const model = {get: (name) => packed[name]};
              await module.default.render({model, el: document.getElementById("place")});
            }""",
            [
                str(shown._esm),
                str(shown._css),
                {name: getattr(shown, name) for name in ("views", "maps", "examples")},
            ],
        )
        assert page.locator("#place .cell").count() == 72
        page.locator('#place .cell[data-head="L2.H8"]').click()
        page.wait_for_selector("#place .board-of-map canvas")
        assert "L2.H8" in page.locator("#place").inner_text()
        page.locator("#place .crumbs a", has_text="All heads").click()
        assert page.locator("#place .cell").count() == 72
        font = "getComputedStyle(document.getElementById('other')).fontFamily"
        assert "Headscope" not in page.evaluate(font)  # the notebook's style is left alone
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert not any(url.startswith("http") for url in requests)
    assert complaints == []
    bundle = look(minilm, "A cat.")._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in str(bundle)


def test_relations_antecedents_and_arcs_are_there(browser: Browser, page_of_demo: Path) -> None:
    page = Visit(browser, page_of_demo, at="#view-0-dependencies").page
    shown = page.locator("#view-0-dependencies")
    relations = shown.locator("table").first
    assert "nsubj" in relations.inner_text()
    assert relations.locator("svg.interval").count() > 5
    relations.locator("tr", has_text="auxiliaries").locator("button.see").click()
    opened = shown.locator("tr.examples-row")
    opened.locator("svg.arcs path.gold").first.wait_for()
    assert opened.locator("h4").all_inner_texts() == [
        "Where it does best",
        "As usual",
        "Where it does worst",
    ]
    assert opened.locator("path.right").count() >= 4
    assert opened.locator("path.wrong").count() >= 2
    relations.locator("button.see[aria-expanded=true]").click()
    assert shown.locator("tr.examples-row").count() == 0
    page.locator("nav a", has_text="Coreference").first.click()
    assert "rule sieve" in page.locator("#view-0-coreference").inner_text()
    page.goto(f"{page_of_demo.as_uri()}#run")
    assert "left out" in page.locator("#run").inner_text().lower()
    page.goto(f"{page_of_demo.as_uri()}#view-0-dependencies")
    relations.locator("button.head").first.click()
    page.wait_for_selector(".board-of-map canvas")


def test_the_page_is_small(page_of_demo: Path) -> None:
    assert page_of_demo.stat().st_size < 2_500_000


def test_figures_are_real_pictures(demo: RunResults, tmp_path: Path) -> None:
    view = CorpusView(demo, "tour", "trained")
    rows = [head_datum(row) for row in view.of(view.headlines[0])]
    drawing = spec(heat_map(rows, Unit.SHARE)) | {"datasets": {"heads": rows}}
    (tmp_path / "map.png").write_bytes(vl_convert.vegalite_to_png(drawing))
    picture = np.asarray(Image.open(tmp_path / "map.png").convert("RGB")).reshape(-1, 3)
    assert len(np.unique(picture, axis=0)) > 30  # cells of many shades, not an empty frame


def test_figures_by_name_and_as_pdf(demo: RunResults, tmp_path: Path) -> None:
    files = demo.figures(tmp_path / "some", ["focus-by-layer"], ["pdf"])
    assert len(files) == 4  # shares and nats, trained and random
    assert all(file.read_bytes().startswith(b"%PDF") for file in files)
    with pytest.raises(HeadscopeError, match="would be a folder"):
        demo.figures(tmp_path / "all.pdf")
    with pytest.raises(HeadscopeError, match="no figure can be written as 'gif'"):
        demo.figures(tmp_path / "some", formats=["gif"])
    with pytest.raises(HeadscopeError, match="no figure has 'nothing'"):
        demo.figures(tmp_path / "some", ["nothing"])


def test_exported_tables_are_those_of_the_page(
    browser: Browser, demo: RunResults, page_of_demo: Path, tmp_path: Path
) -> None:
    files = demo.tables_as_files(tmp_path / "tables")
    better = "minilm-on-tour-A-head-does-better-than-position.csv"
    (relations_csv,) = (file for file in files if file.name == better)
    with relations_csv.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    page = Visit(browser, page_of_demo, at="#view-0-dependencies").page
    table = page.locator("#view-0-dependencies table").first
    shown = [
        [" ".join(cell.inner_text().split()) for cell in row.locator("td").all()]
        for row in table.locator("tbody tr").all()
    ]
    assert [[" ".join(cell.split()) for cell in row] for row in rows[1:]] == shown
    latex = relations_csv.with_suffix(".tex").read_text(encoding="utf-8")
    assert "nsubj" in latex
    assert all(cell.replace("%", r"\%") in latex for cell in rows[1][:3])


def test_experiments_are_drawn(browser: Browser, minilm: Model, tmp_path: Path) -> None:
    hostile = tmp_path / "pairs.tsv"
    rows = [f"{SCRIPT} a{n}\tb {IMAGE}\t{n % 5}" for n in range(12)]
    hostile.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]), encoding="utf-8")
    off = ablate(minilm, f"similarity:{hostile}", progress=NoProgress())
    changed = compare(
        minilm, "minilm", read("tour", limit=20), only=["focus"], progress=NoProgress()
    )
    path = write_report([off, changed], tmp_path / "report.html")
    visit = Visit(browser, path)
    charts = 0
    for part in visit.page.locator("[data-page][id^=part-]").all():
        visit.page.goto(f"{path.as_uri()}#{part.get_attribute('id')}")
        for place in part.locator(".chart").all():
            place.scroll_into_view_if_needed()
            place.locator("svg, .cell, canvas").first.wait_for()
            charts += 1
    assert charts == 2 * 2 + (2 + 6) + 1
    assert visit.complaints == []
    assert set(visit.requests) == {path.as_uri()}
    assert visit.page.evaluate("window.hacked") is None
    alone = Visit(browser, off.report(tmp_path / "alone.html"), wait="#part-1", at="#part-1")
    assert alone.complaints == []
    figures = off.figures(tmp_path / "figures")
    assert len(figures) == 2 * 2 * 2


@pytest.mark.parametrize("width", [80, 200])
def test_a_run_ends_with_a_few_lines(demo: RunResults, width: int) -> None:
    out = io.StringIO()
    Screen(Console(file=out, width=width)).summary([demo], 23)
    lines = out.getvalue().splitlines()
    assert len(lines) <= 23
    assert "of minilm's 72 heads follow language" in lines[0]
    assert any("L2.H8 leads auxiliaries" in line for line in lines)


@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal_shows_tables_whole(demo: RunResults, width: int) -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, width=width))
    screen.results(demo)
    screen.heads(demo, [demo])
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    rows = [[str(cell) for cell in row.cells] for row in relations(demo, *PLACE)]
    starts = [_row_start(lines, cells) for cells in rows]
    assert starts == sorted(starts)
    for cells, start, end in zip(rows, starts, [*starts[1:], None], strict=True):
        if width == 200:  # a row is a line
            assert all(cell in lines[start] for cell in cells)
        shown = Counter(" ".join(lines[start:end]).split())  # cells may be broken into lines
        assert Counter(" ".join(cells).split()) <= shown


def _row_start(lines: list[str], cells: list[str]) -> int:
    """The line in which a row begins: with its relation and its count."""
    relation, count = re.escape(cells[0].removesuffix(" *")), re.escape(cells[1])
    begin = re.compile(rf"[│ ]*{relation}(?: \*)?[│ ]+{count}[│ ]")
    return next(number for number, line in enumerate(lines) if begin.match(line))
