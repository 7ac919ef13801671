"""The labelled maps: five votes each, and a label that follows from them."""

from __future__ import annotations

from labelling.votes import ANNOTATORS, LAST, THIRD, by_annotator, by_map, labels


def test_every_map_has_a_vote_of_every_annotator() -> None:
    votes = by_map()
    assert len(votes) == 1684
    assert all(tuple(vote.annotator for vote in some) == ANNOTATORS for some in votes.values())


def test_a_label_is_what_most_say_and_ties_are_settled_by_a_look() -> None:
    looks = [by_annotator(THIRD), by_annotator(LAST)]
    found, ties = labels(), 0
    for number, votes in by_map().items():
        said = [vote.shape for vote in votes]
        label = found[number]
        assert label.agreed == said.count(label.shape) == max(map(said.count, said))
        assert label.matching == (sum(vote.matching for vote in votes) >= 3)
        if len({shape for shape in said if said.count(shape) == label.agreed}) > 1:
            ties += 1
            assert label.shape in [look[number].shape for look in looks if number in look]
    assert ties == 13
