"""The verb `scan`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options
from headscope.cli.analysis_options import AnalysisOptions, print_analyses
from headscope.cli.app import verb
from headscope.cli.option_groups import OptionGroup
from headscope.cli.run import run_context, show_result

if TYPE_CHECKING:
    from headscope.corpus import Corpus
    from headscope.experiments.scan.settings import Settings


@dataclass(frozen=True)
class CorpusOptions(OptionGroup):
    """The options of every experiment that watches models read corpora."""

    only: options.Only = None
    limit: options.Limit = None
    glue_dir: options.GlueDir = None
    min_count: options.MinCount = 100
    max_length: options.MaxLength = None
    figures: options.Figures = None
    device: options.Device = "cpu"
    dtype: options.Dtype = "float32"
    seed: options.Seed = 0
    verbose: options.Verbose = False
    as_json: options.Json = False

    def read(self, sources: list[str], documents: str | None = None, **more: Any) -> list[Corpus]:
        """The corpora of these names."""
        from headscope.corpus import read

        chosen = {"limit": self.limit, "documents": documents, "glue_dir": self.glue_dir}
        return [read(source, **chosen | more) for source in sources]

    def settings(self, **more: Any) -> Settings:
        """The settings of the scan."""
        from headscope.experiments.scan.settings import Settings

        return Settings(
            max_length=self.max_length, min_count=self.min_count, seed=self.seed, **more
        )


@verb(
    "scan",
    group="Start",
    order=20,
    examples=(
        "scan minilm tour -o run",
        "scan bert-base-uncased en_ewt-ud-test.conllu -o run --random-weights",
        "scan minilm tour -o run --only dependencies,focus --dependencies-clip-offsets",
        "scan my-translator parallel:pairs.tsv -o run",
        "scan --list",
    ),
)
def scan_verb(
    model: options.ModelName,
    data: options.DataNames,
    out: options.Out,
    corpora: CorpusOptions,
    analyses: AnalysisOptions,
    list_: Annotated[  # noqa: ARG001  # its callback prints
        bool,
        typer.Option(
            "--list", help="List the analyses and exit.", callback=print_analyses, is_eager=True
        ),
    ] = False,
    documents: Annotated[
        str | None,
        typer.Option(help="Read only documents whose id matches a pattern, such as 'wsj_01*'."),
    ] = None,
    random_weights: Annotated[
        bool,
        typer.Option("--random-weights", help="Also scan the same architecture, untrained."),
    ] = False,
    untrained: Annotated[
        int,
        typer.Option(
            help="Networks with random weights that read a sample, to know what heads do that know "
            "nothing; 0: test heads against their baselines alone.",
            min=0,
        ),
    ] = 2,
    frequencies: Annotated[
        str, typer.Option(help="Source of word frequencies: 'corpus' or 'wordfreq:LANGUAGE'.")
    ] = "corpus",
    pieces: Annotated[
        str,
        typer.Option(help="Attention from a split word: 'mean' of its pieces, or the 'first'."),
    ] = "mean",
    weights: Annotated[
        str,
        typer.Option(
            help="What is analysed: 'attention', or 'norm', attention times value-vector norms."
        ),
    ] = "attention",
    gradients: Annotated[
        bool,
        typer.Option(
            "--gradients", help="Also measure the gradient of the masked-LM loss in attention."
        ),
    ] = False,
    generate: Annotated[
        bool,
        typer.Option(
            "--generate", help="Let an encoder-decoder translate first, and analyse what it says."
        ),
    ] = False,
    source_annotation: Annotated[
        str | None,
        typer.Option(help="Treebank (CoNLL-U) of the texts of parallel:FILE, in their order."),
    ] = None,
    target_annotation: Annotated[
        str | None,
        typer.Option(help="Treebank of their translations."),
    ] = None,
    languages: options.LanguagePair = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights, which can run code.")
    ] = False,
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run code from the model's repository."),
    ] = False,
) -> None:
    """Run every analysis that the annotation allows, in one pass over each corpus."""
    only = options.analysis_names(corpora.only)

    from headscope.experiments.scan import scan
    from headscope.model import Top, load

    settings = corpora.settings(
        frequencies=frequencies,
        random_weights=random_weights,
        untrained=untrained,
        pieces=pieces,
        weights=weights,
        options=analyses.of(only),
    )
    results = scan(
        load(
            model,
            top=Top.MASKED_LM if gradients else Top.NONE,
            device=corpora.device,
            dtype=corpora.dtype,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
            languages=options.language_pair(languages),
        ),
        *corpora.read(
            data,
            documents,
            source_annotation=source_annotation,
            target_annotation=target_annotation,
        ),
        out=out,
        only=only,
        settings=settings,
        gradients=gradients,
        generate=generate,
        **run_context(),
    )
    show_result(results, out, corpora.figures, corpora.as_json, corpora.verbose)
