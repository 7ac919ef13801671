"""The labelled maps: votes that follow the guide, and a label that follows from the votes."""

from __future__ import annotations

from collections import Counter

import numpy as np
from labelling.draw import DOUBTED, HELD_OUT, read_maps
from labelling.fresh import HELD_OUT as OF_HELD_OUT
from labelling.fresh import SECOND, TRAINING, read_fresh
from labelling.networks import Recipe, Rows, alone, fitted, predicted
from labelling.problem import problems
from labelling.scores import confused, interval, macro_f1
from labelling.votes import (
    ANNOTATORS,
    FURTHER,
    LAST,
    THIRD,
    by_annotator,
    by_map,
    labels,
    read_votes,
    shape_of,
)


def test_every_map_that_is_judged_by_has_five_votes_and_doubtful_ones_nine() -> None:
    drawn, _ = read_maps()
    votes = {number: some for number, some in by_map().items() if drawn[number].judged}
    assert len(votes) == 1684
    for some in votes.values():
        said = Counter(vote.shape for vote in some if vote.annotator in ANNOTATORS)
        more = FURTHER if max(said.values()) <= 3 else ()
        assert tuple(vote.annotator for vote in some) == ANNOTATORS + more


def test_maps_that_a_classifier_chose_have_votes_of_others() -> None:
    drawn, _ = read_maps()
    votes = by_map()
    for one in drawn:
        if one.how == DOUBTED:
            said = {vote.annotator for vote in votes[one.number]}
            assert set(FURTHER[:2]) <= said <= set(FURTHER)


def test_shapes_follow_from_answers() -> None:
    for vote in read_votes():
        if vote.annotator in ANNOTATORS + FURTHER:
            assert vote.shape == shape_of(vote.answers)


def test_a_label_is_what_most_say_and_ties_are_settled_by_a_look_or_by_the_five() -> None:
    looks = [by_annotator(THIRD), by_annotator(LAST)]
    drawn, _ = read_maps()
    found, ties = labels(), 0
    for number, votes in by_map().items():
        said = [vote.shape for vote in votes]
        label = found[number]
        assert label.agreed == said.count(label.shape) == max(map(said.count, said))
        assert label.votes == len(said)
        assert label.matching == (sum(vote.matching for vote in votes) > len(votes) / 2)
        best = {shape for shape in said if said.count(shape) == label.agreed}
        if len(best) > 1 and drawn[number].judged:
            ties += 1
            first = Counter(vote.shape for vote in votes if vote.annotator in ANNOTATORS)
            after = [look[number].shape for look in looks if number in look]
            settled = any(shape in best for shape in after)
            assert (
                label.shape in after
                if settled
                else first[label.shape] == max(first[shape] for shape in best)
            )
    assert ties == 8


def test_who_gives_more_votes_does_not_count_more() -> None:
    """One says yes from -1 on and labels everything, another from 1 on and labels a quarter: what
    is kept lies between them.
    """
    given = np.linspace(-3, 3, 400)[:, None]
    votes = np.zeros((400, 2, 2))
    for place, value in enumerate(given[:, 0]):
        votes[place, 0, int(value > -1)] = 1
        if place % 4 == 0:
            votes[place, 1, int(value > 1)] = 1
    target = votes / votes.sum((1, 2), keepdims=True)
    rows, none = Rows(given, target, np.ones(400)), Rows(given[:0], target[:0], np.ones(0))
    recipe = Recipe(networks=3, hidden=8, steps=300, batch=128, drop=0.0, decay=0.0)
    learned = fitted(rows, none, recipe)
    for one in (learned, *alone(learned)):
        yes = predicted(one, given)[:, 1] > 0.5
        assert -0.6 < given[yes, 0].min() < 0.6
        assert yes[given[:, 0] > 0.6].all()


def test_every_held_out_map_has_the_labels_of_four_and_trains_nothing() -> None:
    drawn, _ = read_maps()
    held_out = {one.number for one in drawn if one.how == HELD_OUT}
    assert len(held_out) == 360
    for annotator in OF_HELD_OUT:
        assert set(read_fresh(annotator)) == held_out
    texts = {f"{drawn[number].source} {drawn[number].text}" for number in held_out}
    for problem in problems().values():
        assert held_out.isdisjoint(problem.number.tolist())
        assert texts.isdisjoint(problem.text.tolist())


def test_second_opinions_are_of_the_same_maps_and_first_ones_of_others() -> None:
    first = [read_fresh(annotator) for annotator in TRAINING if annotator not in SECOND.values()]
    assert sum(map(len, first)) == len(set().union(*first))
    for one, other in SECOND.items():
        assert set(read_fresh(one)) == set(read_fresh(other))


def test_a_fold_shares_no_head_and_no_text_with_its_training_maps() -> None:
    problem = problems()["shape"]
    folds = list(problem.folds())
    assert (np.stack([out for _, out in folds]).sum(0) == 1).all()
    for inside, out in folds:
        assert set(problem.head[inside]).isdisjoint(problem.head[out])
        assert set(problem.text[inside]).isdisjoint(problem.text[out])


def test_scores_are_over_the_four_frequent_shapes() -> None:
    label, guess = np.array([0, 0, 1, 2, 3, 4]), np.array([0, 4, 1, 2, 0, 4])
    assert macro_f1(label, guess) == (2 / 4 + 1 + 1 + 2 / 3) / 4
    assert confused(label, guess) == 1
    low, high = interval(lambda some: macro_f1(label[some], label[some]), np.array([*"aabbcc"]))
    assert 0 <= low <= high <= 1
