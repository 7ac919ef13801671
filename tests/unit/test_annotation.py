"""What annotation says: relations, features, mentions, windows, frames."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from headscope.analyses.frames import FrameOptions
from headscope.corpus import Example, Frame, Mention, pack, read, word_list
from headscope.corpus.features import word_features
from headscope.corpus.frames import alternative_positions, select_frames
from headscope.corpus.mentions import coreference_mentions, head_match, nearest, sieve
from headscope.corpus.relations import dependency_links
from headscope.errors import InputError

KOVALEVA = asdict(FrameOptions())
OWNED = Example(
    "1",
    words=("Bell", "'s", "new", "car"),
    heads=(3, 0, 3, -1),
    relations=("poss", "possessive", "amod", "root"),
)


def test_before_an_s_the_possessive_rule_asks_the_s() -> None:
    plain = [(link.source, link.target, link.label) for link in dependency_links(OWNED)]
    assert plain == [(0, 3, "poss"), (1, 0, "possessive"), (2, 3, "amod")]
    shifted = list(dependency_links(OWNED, possessive=True))
    assert (shifted[0].source, shifted[0].target) == (1, 3)
    assert shifted[1:] == list(dependency_links(OWNED))[1:]


def test_roots_count_only_among_all_words() -> None:
    labels = [link.label for link in dependency_links(OWNED, all_words=True)]
    assert labels == ["poss", "possessive", "amod", "root"]


def test_features_of_universal_and_of_penn_tags_agree() -> None:
    words = ("She", "did", "not", "see", "Paris")
    shared = Example("1", words=words, relations=("nsubj", "aux", "neg", "root", "obj"))
    tags = ("PRON", "AUX", "PART", "VERB", "PROPN")
    penn = ("PRP", "VBD", "RB", "VB", "NNP")
    expected = {
        "noun": [4],
        "pronoun": [0],
        "verb": [1, 3],
        "subject": [0],
        "object": [4],
        "negation": [2],
    }
    assert word_features(replace(shared, upos=tags)) == expected
    assert word_features(replace(shared, xpos=penn)) == expected
    assert word_features(replace(shared, upos=tags, xpos=penn)) == expected


def test_negation_is_a_whole_word_of_a_list(tmp_path: Path) -> None:
    text = Example("1", words=("Another", "note", ",", "No", ",", "nothing"))
    assert word_features(text)["negation"] == [3, 5]
    listed = tmp_path / "de.txt"
    listed.write_text("# German\nnicht\nKein\n", encoding="utf-8")
    german = Example("1", words=("Das", "ist", "kein", "not"), features=("_", "_", "_", "_"))
    assert word_features(german, negations=word_list(listed))["negation"] == [2]
    marked = replace(german, features=("_", "_", "Polarity=Neg|PronType=Neg", "_"))
    assert word_features(marked, negations=("xyz",))["negation"] == [2]
    listed.write_text("# nothing\n")
    with pytest.raises(InputError, match="no words"):
        word_list(listed)


def test_sentences_of_a_document_are_packed_without_overlap() -> None:
    tour = list(read("tour"))
    packed = list(pack(((one, len(one.words)) for one in tour), room=40))
    assert [word for one in packed for word in one.words] == [w for one in tour for w in one.words]
    assert all(len(one.words) <= 40 for one in packed)
    assert {one.document for one in packed} == {one.document for one in tour}
    for one in packed:  # what the annotation points at has moved along
        assert len(one.words) == len(one.heads) == len(one.upos) == len(one.spaces)
        roots = sum(head < 0 for head in one.heads)
        assert roots == int(one.id.partition("+")[2] or 0) + 1
    spans = [(one.document, one.words[m.start : m.end]) for one in packed for m in one.mentions]
    known = [(one.document, one.words[m.start : m.end]) for one in tour for m in one.mentions]
    assert spans == known
    full = list(pack(((one, len(one.words)) for one in tour), room=10_000))
    assert len(full) == 14


def test_texts_without_a_document_are_windows_of_their_own() -> None:
    alone = [Example(str(n), words=("a", "b")) for n in range(3)]
    assert list(pack([(one, 2) for one in alone], room=100)) == alone


def mentioned(words: str, *spans: tuple[int, int, str], tags: str = "") -> Example:
    return Example(
        "1",
        words=tuple(words.split()),
        upos=tuple(tags.split()),
        mentions=tuple(Mention(*span) for span in spans),
    )


def test_types_of_mentions() -> None:
    text = mentioned(
        "Ann saw the dog and she fed it", (0, 1, "a"), (2, 4, "d"), (5, 6, "a"), (7, 8, "d")
    )
    by_form = [one.kind for one in coreference_mentions(text)]
    assert by_form == ["proper", "nominal", "pronoun", "pronoun"]
    tagged = replace(text, upos=("PROPN", "VERB", "DET", "NOUN", "CCONJ", "PRON", "VERB", "PRON"))
    assert [one.kind for one in coreference_mentions(tagged)] == by_form


def test_of_mentions_with_one_head_word_the_longest_stands_for_all() -> None:
    text = mentioned("the old man slept", (0, 3, "1"), (2, 3, "2"), (1, 3, "3"))
    (one,) = coreference_mentions(text)
    assert (one.head, one.chain, one.text) == (2, "1", "the old man")


def test_the_sieve_prefers_strings_then_heads_then_agreement() -> None:
    text = mentioned(
        "the cat met a dog and Mary saw the cat while she held cats",
        (0, 2, "c"),
        (3, 5, "d"),
        (6, 7, "m"),
        (8, 10, "c"),
        (11, 12, "m"),
        (13, 14, "x"),
    )
    cat, dog, mary, again, she, _ = coreference_mentions(text)
    assert sieve(again, [cat, dog, mary]) == 0
    assert head_match(again, [cat, dog, mary]) == 0
    assert nearest(again, [cat, dog, mary]) == 2
    king = coreference_mentions(mentioned("the king slept", (0, 2, "k")))[0]
    assert not she.agrees(king)
    assert sieve(she, [mary, king]) == 0
    assert nearest(she, [mary, king]) == 1


def test_kovaleva_s_filter_and_the_other_places_of_a_frame() -> None:
    words = tuple("abcdefghijkl")
    near = Frame("F", 5, (("A", 4, 5),))
    long = Frame("F", 5, (("A", 0, 4),))
    good = Frame("F", 5, (("A", 1, 3), ("B", 8, 10)))
    text = Example("1", words=words, frames=(near, long, good))
    assert list(select_frames(text, **KOVALEVA)) == [good]
    assert list(select_frames(replace(text, words=(*words, "m")), **KOVALEVA)) == []
    for target, spans in alternative_positions(good, 12):
        assert 0 <= target < 12
        lengths = sorted(end - start for start, end in spans)
        assert lengths == [2, 2]
        gaps = sorted(min(abs(w - target) for w in range(start, end)) for start, end in spans)
        assert gaps == [3, 3]
        assert (target, spans) != (5, ((1, 3), (8, 10)))


def test_a_frame_s_mirror_image_is_no_other_place() -> None:
    assert alternative_positions(Frame("F", 2, (("A", 0, 1), ("B", 4, 5))), 5) == []


def test_clitics_are_no_subjects() -> None:
    spanish = Example(
        "1", words=("Se", "venden", "casas"), relations=("expl:pass", "root", "nsubj:pass")
    )
    assert word_features(spanish)["subject"] == [2]
    english = Example("1", words=("There", "is"), relations=("expl", "root"))
    assert word_features(english)["subject"] == [0]


def test_a_sentence_without_annotation_changes_nothing_for_its_neighbours() -> None:
    first = Example(
        "d-1",
        document="d",
        words=("The", "cat", "next", "door", "slept"),
        heads=(1, 4, 3, 1, -1),
        relations=("det", "nsubj", "case", "nmod", "root"),
        upos=("DET", "NOUN", "ADP", "NOUN", "VERB"),
        mentions=(Mention(0, 4, "1"),),
    )
    second = Example("d-2", document="d", words=("It", "purrs"), mentions=(Mention(0, 1, "1"),))
    (window,) = pack([(first, 5), (second, 2)], room=50)
    cat, it = coreference_mentions(window)
    assert (cat.head, cat.kind) == (1, "nominal")
    assert (it.head, it.kind) == (5, "pronoun")
