"""Examples by score: the highest, the sample's median and the lowest, whatever the shards."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headscope.evidence import Candidates, RankedExample, RankedExamples, ShardResult, ShownText
from headscope.evidence.ranked_examples import HIGHEST, LOWEST, SAMPLED

HEADS = 3
ACCURACY = ("accuracy", "row", "det")
GAIN = ("gain", None, None)
Scores = list[list[float]]
scores_of_texts = st.lists(
    st.lists(
        st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.just(float("nan"))),
        min_size=HEADS,
        max_size=HEADS,
    ),
    min_size=1,
    max_size=30,
)


def text(number: int) -> ShownText:
    drawn = np.arange(HEADS)[:, None] * 100 + np.array([number, number])
    return ShownText(
        f"s{number}", number * 7919 % 101, {"words": [str(number)]}, drawn.astype(np.int16)
    )


def store(scores: Scores, numbers: list[int]) -> RankedExamples:
    texts = [text(number) for number in numbers]
    own = np.array([scores[number] for number in numbers], np.float32).reshape(-1, HEADS)
    made = RankedExamples()
    statistic, direction, group = ACCURACY
    made.offer(
        [Candidates(statistic, own, texts, group, direction), Candidates("gain", -own, texts)]
    )
    return made


def chosen(examples: RankedExamples) -> list[tuple[object, ...]]:
    def row(example: RankedExample) -> tuple[object, ...]:
        score = round(example.score, 4)
        return example.choice, score, example.id, example.record["words"], example.drawn.tolist()

    every = [(number, head) for number in (ACCURACY, GAIN) for head in range(HEADS)]
    return [row(example) for number, head in every for example in examples.examples(number, head)]


@given(scores_of_texts, st.randoms(use_true_random=False), st.integers(1, 6))
def test_shards_in_any_order_merge_to_the_choice_of_one_pass(
    scores: Scores, random: object, parts: int
) -> None:
    whole = list(range(len(scores)))
    mixed = whole.copy()
    random.shuffle(mixed)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    merged = RankedExamples()
    for part in range(parts):
        merged.merge(store(scores, mixed[part::parts]))
    assert chosen(merged) == chosen(store(scores, whole))


@given(scores_of_texts)
def test_what_is_kept_equals_a_sort_of_all_texts(scores: Scores) -> None:
    examples = store(scores, list(range(len(scores))))
    for head in range(HEADS):
        known = [
            (row[head], text(number).rank, f"s{number}")
            for number, row in enumerate(scores)
            if not np.isnan(row[head])
        ]
        highest = [name for *_, name in sorted(known, key=lambda one: (-one[0], one[1]))][:HIGHEST]
        lowest = [name for *_, name in sorted(known)][:LOWEST]
        sample = sorted(sorted(known, key=lambda one: one[1])[:SAMPLED])
        shown = list(examples.examples(ACCURACY, head))
        assert [one.id for one in shown if one.choice == "highest"] == highest
        low = [one.id for one in shown if one.choice == "lowest"]
        assert low == [name for name in lowest if name in low]
        for one in shown:
            if one.choice == "lowest":
                assert all(one.score < other.score for other in shown if other.choice == "highest")
            if one.choice == "typical":
                assert one.id in [name for *_, name in sample]
        median = sample[(len(sample) - 1) // 2][2] if len(sample) > HIGHEST + LOWEST else None
        assert median is None or median in [one.id for one in shown]
        assert len({one.id for one in shown}) == len(shown)


def test_each_head_keeps_what_it_draws_itself() -> None:
    examples = store([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], [0, 1])
    for head, best in ((0, 0), (1, 1)):
        first = next(examples.examples(ACCURACY, head))
        assert first.id == f"s{best}"
        assert first.drawn.tolist() == [head * 100 + best] * 2


def test_texts_that_no_head_needs_are_forgotten() -> None:
    scores = [[number / 500] * HEADS for number in range(400)]
    merged = RankedExamples()
    for start in range(0, 400, 40):
        merged.merge(store(scores, list(range(start, start + 40))))
    _, record = merged.arrays("ranked")
    assert len(record["texts"]) <= HIGHEST + LOWEST + SAMPLED


def test_they_survive_being_written() -> None:
    result = ShardResult()
    scores = [[0.1, 0.2, float("nan")], [0.3, 0.1, float("nan")], [0.5, 0.6, float("nan")]]
    result.ranked["dependencies"] = store(scores, [0, 1, 2])
    result.ranked["empty"] = RankedExamples()
    again = ShardResult.from_arrays(result.arrays())
    assert chosen(again.ranked["dependencies"]) == chosen(result.ranked["dependencies"])
    assert not again.ranked["empty"].numbers
