"""The tour texts are small but true: trees, spans, chains, frames and pairs are valid."""

from __future__ import annotations

from collections import Counter, defaultdict

from headscope.corpus import Example, read

UPOS = {
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
}
RELATIONS = {
    "acl",
    "advcl",
    "advmod",
    "amod",
    "appos",
    "aux",
    "case",
    "cc",
    "ccomp",
    "compound",
    "conj",
    "cop",
    "csubj",
    "dep",
    "det",
    "discourse",
    "dislocated",
    "expl",
    "fixed",
    "flat",
    "goeswith",
    "iobj",
    "list",
    "mark",
    "nmod",
    "nsubj",
    "nummod",
    "obj",
    "obl",
    "orphan",
    "parataxis",
    "punct",
    "reparandum",
    "root",
    "vocative",
    "xcomp",
}
LEAVES = {"case", "det", "aux", "cop", "mark", "punct", "cc"}


def sentences() -> list[Example]:
    return list(read("tour"))


def test_size() -> None:
    tour = sentences()
    assert len(tour) >= 150
    assert len({one.document for one in tour}) >= 12
    assert len({one.id for one in tour}) == len(tour)
    assert sum(len(frame.elements) for one in tour for frame in one.frames) >= 40


def test_every_tree_is_a_tree() -> None:
    for one in sentences():
        assert one.heads.count(-1) == 1, one.id
        for word, head in enumerate(one.heads):
            assert (head == -1) == (one.relations[word] == "root"), one.id
            seen, at = set(), word
            while at >= 0:
                assert at not in seen, f"{one.id}: cycle at word {word + 1}"
                seen.add(at)
                at = one.heads[at]


def test_tags_and_relations_are_of_ud() -> None:
    for one in sentences():
        assert set(one.upos) <= UPOS, one.id
        assert {relation.partition(":")[0] for relation in one.relations} <= RELATIONS, one.id
        assert len(one.xpos) == len(one.words)
        for place, relation in enumerate(one.relations):
            assert (relation == "punct") == (one.upos[place] == "PUNCT"), one.id
            children = [one.relations[c] for c, head in enumerate(one.heads) if head == place]
            if relation.partition(":")[0] in LEAVES:
                allowed = {"fixed", "conj", "cc", "punct", "advmod", "goeswith"}
                assert set(children) <= allowed, (one.id, place + 1, children)


def test_punctuation_is_projective() -> None:
    for one in sentences():
        for place, head in enumerate(one.heads):
            if one.relations[place] != "punct":
                continue
            inside = range(min(place, head) + 1, max(place, head))
            for other, other_head in enumerate(one.heads):
                if other_head >= 0:
                    crossing = (other in inside) != (other_head in inside)
                    touches = {other, other_head} & {place, head}
                    assert not crossing or touches, f"{one.id}: punctuation at {place + 1} crosses"


def test_chains_have_mentions_that_nest() -> None:
    chains: dict[tuple[str | None, str], int] = defaultdict(int)
    for one in sentences():
        for mention in one.mentions:
            assert 0 <= mention.start < mention.end <= len(one.words)
            chains[one.document, mention.chain] += 1
        for a in one.mentions:
            for b in one.mentions:
                crosses = a.start < b.start < a.end < b.end
                assert not crosses, f"{one.id}: mentions cross"
    assert all(count >= 2 for count in chains.values())
    per_document = Counter(document for document, _ in chains)
    assert min(per_document.values()) >= 4


def test_frames_link_elements_to_a_target() -> None:
    readable = 0
    for one in sentences():
        for frame in one.frames:
            assert frame.elements, one.id
            assert one.upos[frame.target] in {"VERB", "NOUN", "ADJ", "ADV", "AUX", "PROPN"}, one.id
            for _, start, end in frame.elements:
                assert not start <= frame.target < end, one.id
            readable += len(one.words) <= 12 and all(
                end - start <= 3 and min(abs(w - frame.target) for w in range(start, end)) >= 2
                for _, start, end in frame.elements
            )
    assert readable >= 40


def test_text_is_the_words_with_their_spaces() -> None:
    tour = read("tour")
    comments = [
        line.removeprefix("# text = ")
        for path in tour.paths
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("# text = ")
    ]
    joined = [
        "".join(
            " " * space + word for word, space in zip(one.words, one.spaces, strict=True)
        ).strip()
        for one in tour
    ]
    assert joined == comments


def test_pairs_are_graded() -> None:
    pairs = list(read(read("tour").paths[0].parent / "pairs.tsv"))
    assert len(pairs) >= 60
    assert len({one.id for one in pairs}) == len(pairs)
    grades = [float(one.label or "nan") for one in pairs]
    assert all(0 <= grade <= 5 for grade in grades)
    assert {round(grade) for grade in grades} == {0, 1, 2, 3, 4, 5}
    assert all(one.pair and one.text != one.pair for one in pairs)


def test_twins_are_the_words_that_both_sentences_have_once() -> None:
    pairs = list(read(read("tour").paths[0].parent / "pairs.tsv"))
    linked = list(read("tour-pairs"))
    assert [one.id for one in linked] == [one.id for one in pairs]
    for one, raw in zip(linked, pairs, strict=True):
        assert "".join(one.words) == raw.text.replace(" ", "")
        assert "".join(one.pair_words) == (raw.pair or "").replace(" ", "")
        first, second = ([w.lower() for w in words] for words in (one.words, one.pair_words))
        twins = [
            (place, len(first) + second.index(word))
            for place, word in enumerate(first)
            if first.count(word) == second.count(word) == 1 and word[0].isalnum()
        ]
        assert [(link.source, link.target) for link in one.links] == twins
    assert sum(len(one.links) for one in linked) >= 200
