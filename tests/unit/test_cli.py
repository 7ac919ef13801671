"""The command line knows no experiment and no analysis; what it prints is data, not markup."""

from __future__ import annotations

import io
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from rich.console import Console

import headscope.cli
from headscope._util import plugins
from headscope.cli import app, main
from headscope.cli.analysis_options import AnalysisOptions
from headscope.cli.doctor import examine
from headscope.cli.show import Screen
from headscope.report.sections import Section

VERBS = (
    "demo scan explore look roles report compare finetune ablate importance relevance gates prune "
    "probe reproduce doctor version"
)
EVIL = "[/x] [bold]b[/bold] \x1b[31mred\x07 \u202ereversed"
HARMLESS = "[/x] [bold]b[/bold] [31mred reversed"


@pytest.fixture
def verbs() -> list[str]:
    """The names of all verbs in the order of the help."""
    return [command.name or "" for command in main.load_app().registered_commands]


def test_verbs_come_in_the_order_in_which_a_user_needs_them(verbs: list[str]) -> None:
    assert plugins.plugin_failures() == []
    assert verbs == VERBS.split()


def test_every_verb_has_one_line_of_help_and_examples(verbs: list[str]) -> None:
    for command in app.make_app().registered_commands:
        assert command.help is not None
        assert command.help.count("\n") == 0
        assert command.epilog is not None
        assert f"headscope {command.name}" in command.epilog


def test_nothing_in_the_command_line_is_named_after_an_experiment_or_an_analysis() -> None:
    experiments = {package.rpartition(".")[2] for package in plugins.experiment_packages()}
    names = experiments | set(plugins.registered_analyses())
    (folder,) = headscope.cli.__path__
    assert names.isdisjoint(path.stem for path in Path(folder).iterdir())


def test_what_is_printed_is_neither_markup_nor_obeyed_by_the_terminal() -> None:
    stream = io.StringIO()
    screen = Screen(Console(file=stream, width=200, force_terminal=False))
    screen.line(EVIL)
    screen.path(Path(EVIL))
    screen.table(EVIL, [EVIL], [[EVIL]])
    screen.section(Section(EVIL, [EVIL], columns=(EVIL,), rows=[(EVIL,)]))
    printed = stream.getvalue()
    assert printed.count(HARMLESS) == 9
    assert not any(character in printed for character in "\x1b\x07\u202e")


def test_a_long_table_names_the_rows_that_it_leaves_out() -> None:
    stream = io.StringIO()
    Screen(Console(file=stream, width=80)).table("t", ["a"], [[str(n)] for n in range(60)])
    assert "45 of 60 rows; the report has all" in stream.getvalue()


def test_an_option_of_an_analysis_can_be_set_in_two_ways(tmp_path: Path) -> None:
    by_name = AnalysisOptions(dependencies_possessive=True, linguistic_features_negations="ne,pas")
    by_set = AnalysisOptions(
        set_=["dependencies.possessive=yes", "linguistic_features.negations=ne, pas"]
    )
    assert by_name.values == by_set.values
    words = tmp_path / "words.txt"
    words.write_text("# French\nNe\npas\n", encoding="utf-8")
    from_file = AnalysisOptions(linguistic_features_negations=f"@{words}")
    assert from_file.values == {"linguistic_features": {"negations": ("ne", "pas")}}
    assert AnalysisOptions().values == {}


def test_a_plug_in_that_fails_is_one_line_and_the_program_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    points = {
        "headscope.experiments": [
            EntryPoint("bad", "no_such_module", "headscope.experiments"),
        ]
    }
    monkeypatch.setattr(plugins, "entry_points", lambda group: points.get(group, []))
    monkeypatch.setattr(plugins, "_failures", [])
    for cached in (
        plugins.load_plugins,
        plugins.experiment_packages,
        plugins.load_experiment_modules,
    ):
        cached.cache_clear()
    monkeypatch.setattr("sys.argv", ["headscope", "version"])
    try:
        with pytest.raises(SystemExit) as ended:
            main.main()
    finally:
        for cached in (
            plugins.load_plugins,
            plugins.experiment_packages,
            plugins.load_experiment_modules,
        ):
            cached.cache_clear()
    printed = capsys.readouterr()
    assert not ended.value.code
    assert printed.out.strip() == headscope.__version__
    (line,) = [line for line in printed.err.splitlines() if "bad" in line]
    assert "plug-in 'bad' (no_such_module) was left out: ModuleNotFoundError" in line


def test_doctor_knows_the_extras_and_everything_that_is_registered() -> None:
    findings = examine()
    extras = " ".join(findings["extras"])
    for extra in ("demo", "frames", "fast", "finetune", "onnx", "framenet", "wordfreq"):
        assert f"{extra}: " in extras
    assert "dev: " not in extras
    assert "glue/NAME" in findings["tasks"]
    assert "ablation" in findings["experiments"]


def test_results_of_a_task_print_themselves() -> None:
    results = headscope.ablate("minilm", headscope.task("tour", limit=12), heads=["L0.H0", "L5"])
    assert "Heads off: minilm on tour, Spearman" in repr(results)
    assert "L0.H0" in repr(results)
    assert "<td>L0.H0</td>" in results._repr_html_()


def test_options_that_are_set_twice_or_in_vain_are_an_error() -> None:
    with pytest.raises(typer.BadParameter, match="distances has options but is not among focus"):
        AnalysisOptions(distances_rows=100).of(["focus"])
    with pytest.raises(typer.BadParameter, match=r"distances\.rows is set twice: 50, 100"):
        AnalysisOptions(set_=["distances.rows=50"], distances_rows=100)
