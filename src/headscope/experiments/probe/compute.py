"""Clark's table 3 for a model and a treebank: probes, baselines, controls, job by job."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from headscope._util.naming import SELF
from headscope._util.progress import Progress
from headscope.analyses import describe_class
from headscope.corpus import BUCKETS, Corpus, bucket_of
from headscope.corpus.files import digest
from headscope.corpus.vectors import WordVectors, read_vectors
from headscope.errors import HeadscopeError, InputError
from headscope.evidence import Layout, ShardResult, Tally
from headscope.experiments._shared.identity import data_record, model_record
from headscope.experiments.base import Experiment, versions
from headscope.experiments.probe import sentences as trees
from headscope.experiments.probe.evaluation import (
    Floats,
    head_use,
    sentence_scores,
    spanning_tree,
)
from headscope.experiments.probe.inputs import ProbeInputs, TreebankPart
from headscope.experiments.probe.jobs import (
    AS_TREE,
    CORRECT,
    JOBS,
    LABELLED,
    SCORED,
    Job,
    JobResult,
)
from headscope.experiments.probe.labels import (
    Labeller,
    count_labelled,
    predict_relations,
    train_labeller,
)
from headscope.experiments.probe.probes import AttentionProbe, Probe
from headscope.experiments.probe.scores import ScoreTable, use_statistics
from headscope.experiments.probe.sentences import Gold, Ints, ParsedSentence, count_correct
from headscope.experiments.probe.tables import (
    CONTROL,
    PROBES,
    UAS,
    ProbeSummary,
    SentenceCounts,
)
from headscope.experiments.probe.training import best_hyperparameters, train
from headscope.experiments.scan.gather import corpus_record
from headscope.model import Model
from headscope.runs import ResultBuilder, RunFolder, Study, run

TRAIN, DEV, TEST = "train", "dev", "test"
PROBES_TRAINED = "probes trained"


class Probing(Experiment):
    """Parsers that know attention, and words: how well they find syntactic heads, and which heads
    of the model they use.

    A head's use is what it adds to the score of a word's syntactic head, above what it adds to
    the other words of the sentence, in nats of log-odds: by attention from the syntactic head to
    the dependent, and back. Mean over the test part's words except punctuation and roots, and over
    seeds.

    Attributes:
        corpora: treebanks by part.
        vectors: a file of word vectors; None: the model's own input embeddings.
        seeds: how many times each probe is trained.
        labels: whether relations are predicted as well.
        cache: bytes on disk for the attention of each part.
    """

    name = "probe"

    def __init__(
        self,
        model: Model,
        corpora: dict[str, Corpus],
        *,
        vectors: Path | None,
        seeds: int,
        labels: bool,
        max_length: int | None,
        seed: int,
        cache: int,
    ) -> None:
        if seeds < 1:
            raise HeadscopeError(f"probes are trained with at least 1 seed, not {seeds}")
        model.check_length(max_length)
        model.check_one_stack("probes")
        model.check_even("probes")
        self.model, self.corpora, self.vectors = model, corpora, vectors
        self.seeds, self.labels, self.cache = seeds, labels, cache
        self.max_length, self.seed = max_length, seed
        self._labellers: dict[str, Labeller] = {}

    def study(self) -> Study:
        """What identifies the run."""
        options = {
            "vectors": [self.vectors.name, digest(self.vectors)] if self.vectors else None,
            "seeds": self.seeds,
            "labels": self.labels,
            "max_length": self.max_length,
            "seed": self.seed,
        }
        return Study(
            model_record(self.model),
            versions(),
            options,
            experiment=self.name,
            data=[data_record(corpus, part) for part, corpus in self.corpora.items()],
        )

    def prepare(self, progress: Progress) -> None:
        """Read the sentences and the word vectors."""
        self.progress = progress
        parts = {part: self._read(corpus) for part, corpus in self.corpora.items()}
        if DEV not in parts:
            parts[TRAIN], parts[DEV] = trees.split_development(parts[TRAIN])
        for part, sentences in parts.items():
            if not sentences:
                raise HeadscopeError(f"no sentences of two words or more in the {part} part")
        self.parts = parts
        self.word_vectors = self._read_vectors()

    def _read(self, corpus: Corpus) -> list[ParsedSentence]:
        examples = [example for example in corpus if example.heads]
        pieces = self.model.encode(examples, self.max_length)
        if not pieces:
            raise InputError("no syntactic heads in it; a probe needs a treebank", corpus.paths[0])
        for encoded in pieces:
            self.model.check_not_truncated(encoded, self.max_length, corpus.paths[0])
        sentences = trees.parsed_sentences(pieces)
        unknown = sum(int((sentence.heads == trees.UNKNOWN).sum()) for sentence in sentences)
        if unknown:
            self.progress.say(
                f"{corpus.name}: the heads of {unknown:,} words are not seen; they do not count"
            )
        return sentences

    def _read_vectors(self) -> WordVectors | None:
        if self.vectors is None:
            return None
        words = {word for part in self.parts.values() for each in part for word in each.words}
        vectors = read_vectors(self.vectors, words)
        covered = sum(vectors.row_of(word) is not None for word in words) / len(words)
        self.progress.say(
            f"{vectors.name}: vectors of {vectors.size} numbers for {covered:.1%} of the words"
        )
        return vectors

    def compute(self, folder: RunFolder | None) -> ResultBuilder:
        """Train every probe and turn its predictions into tables."""
        corpus, weights = self.corpora[TEST].name, self.model.weights
        counts = SentenceCounts(*(len(self.parts[part]) for part in (TRAIN, DEV, TEST)))
        self.progress.say(", ".join(f"{part}: {n:,} sentences" for part, n in vars(counts).items()))
        self.progress.begin(f"{self.model.name} on {corpus}: probes", len(JOBS) * self.seeds)
        with ProbeInputs(
            self.model,
            self.parts,
            self.word_vectors,
            seed=self.seed,
            max_bytes=self.cache,
            folder=folder.path if folder else None,
        ) as self.inputs:
            result = run(JOBS, self.work, folder, 0, self)
        self.progress.end()
        results = {job: JobResult.restore(job, result) for job in JOBS}
        shape = Layout(BUCKETS, self.model.layers, self.model.heads, self.model.uneven)
        scores = ScoreTable(corpus, self.parts[TRAIN], self.parts[TEST])
        texts = [sentence.pieces for sentence in self.parts[TEST]]
        builder = ResultBuilder()
        about = describe_class(Probing)
        builder.add_statistics(self.name, about, use_statistics(results, shape), corpus, weights)
        builder.add_rows(PROBES, [*scores.probes(results, self.labels), *scores.baselines()])
        place = (corpus, weights, SELF)
        builder.corpora[place] = corpus_record(*place, texts, len(texts))
        builder.summarise(ProbeSummary(counts))
        return builder

    def skip(self, result: ShardResult) -> None:
        """Count what an earlier process had done as done."""
        self.progress.advance(result.counts[PROBES_TRAINED])

    def work(self, job: Job) -> ShardResult:
        """Train a probe with every seed and evaluate it on the test part."""
        part, dev, test = (self.inputs.part(job.attention_of, name) for name in (TRAIN, DEV, TEST))
        gold: Gold = trees.control if job.task == CONTROL else trees.dependencies
        best = best_hyperparameters(job.kind, (part, dev), gold, self.seed)
        trials = [(best, seed) for seed in range(self.seed, self.seed + self.seeds)]
        by_seed, uses = [], []
        for trained in train(job.kind, (part, dev), gold, trials):
            by_seed.append(self._evaluate(job, trained.probe, test, gold))
            if job.measures_use and isinstance(trained.probe, AttentionProbe):
                uses.append(self._use(trained.probe, test))
            self.progress.advance(1)
        counts = np.mean(by_seed, 0)
        words = max(1, int(counts[:, SCORED].sum()))
        correct = np.array([each[:, CORRECT].sum() / words for each in by_seed])
        result = ShardResult()
        result.counts[PROBES_TRAINED] = len(by_seed)
        JobResult(counts, correct, _total(uses)).store(job, result)
        return result

    def _evaluate(self, job: Job, probe: Probe, test: TreebankPart, gold: Gold) -> Floats:
        """(sentence, 4) counts of words (see `JobResult`)."""
        counts = np.zeros((len(test.maps.sentences), 4))
        heads: dict[int, Ints] = {}
        for place, sentence, scores in sentence_scores(probe, test, gold):
            heads[place] = scores.argmax(1)
            counts[place, SCORED] = sentence.scored.sum()
            counts[place, CORRECT] = count_correct(sentence, heads[place], gold)
            if job.task == UAS:
                counts[place, AS_TREE] = count_correct(sentence, spanning_tree(scores), gold)
        if self.labels and job.can_be_labelled:
            relations = predict_relations(self._labeller(job.weights), test, heads)
            for place, sentence in enumerate(test.maps.sentences):
                labelled = count_labelled(sentence, heads[place], relations[place])
                counts[place, LABELLED] = labelled
        return counts

    def _labeller(self, weights: str) -> Labeller:
        """The labeller of a model's attention, trained once."""
        if weights not in self._labellers:
            self._labellers[weights] = train_labeller(self.inputs.part(weights, TRAIN), self.seed)
        return self._labellers[weights]

    def _use(self, probe: AttentionProbe, test: TreebankPart) -> Tally:
        layers, heads = self.model.layers, self.model.heads
        sums = np.zeros((BUCKETS, layers, heads, 2))
        counts = np.zeros((BUCKETS, layers, 1, 2))
        for unit, added, words in head_use(probe, test):
            bucket = bucket_of(unit)
            sums[bucket] += added.reshape(layers, heads, 2)
            counts[bucket] += words
        return Tally.of(sums, counts)


def _total(tallies: list[Tally]) -> Tally | None:
    """The sum of tallies, which are used up; None without any."""
    for tally in tallies[1:]:
        tallies[0].merge(tally)
    return tallies[0] if tallies else None
