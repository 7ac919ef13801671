"""Texts with their translations: files, columns, word alignments, treebanks, and bad lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headscope.corpus import Example, Link, parallel, read
from headscope.errors import InputError

TREE = """\
# sent_id = a
1	Guten	gut	ADJ	_	_	2	amod	_	_
2	Tag	Tag	NOUN	_	_	0	root	_	SpaceAfter=No
3	!	!	PUNCT	_	_	2	punct	_	_

"""
ENGLISH = TREE.replace("Guten", "Good").replace("Tag", "day")


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def texts(example: Example) -> tuple[str, str]:
    assert example.translation is not None
    return example.text, example.translation.text


def test_two_columns_with_and_without_a_header(tmp_path: Path) -> None:
    plain = write(tmp_path, "a.tsv", "Guten Tag!\tGood day!\n\nDanke.\tThanks.\n")
    examples = list(read(f"parallel:{plain}"))
    assert [texts(one) for one in examples] == [("Guten Tag!", "Good day!"), ("Danke.", "Thanks.")]
    assert [one.id for one in examples] == ["1", "3"]
    rows = "id\ttarget\tsource\talignment\tdocument\nx\tGood day\tGuten Tag\t0-0 1p1\td\n"
    (headed,) = read(f"parallel:{write(tmp_path, 'b.tsv', rows)}")
    assert (headed.id, headed.document, texts(headed)) == ("x", "d", ("Guten Tag", "Good day"))
    assert headed.alignment == (Link(0, 0, "sure"), Link(1, 1, "possible"))
    assert not headed.is_pair


def test_two_files_line_by_line_and_their_alignments(tmp_path: Path) -> None:
    first = write(tmp_path, "a.de", "Guten Tag\nDanke sehr\n")
    second = write(tmp_path, "b.en", "Good day\nThanks\n")
    zero = write(tmp_path, "links.pharaoh", "0-0 1-1\n0-0 1?0\n")
    one = write(tmp_path, "links.talp", "1-1 2-2\n1-1 2p1\n")
    expected = (Link(0, 0, "sure"), Link(1, 0, "possible"))
    for links in (zero, one):
        examples = list(read(f"parallel:{first},{second},{links}"))
        assert examples[1].alignment == expected
        assert examples[1].words == ("Danke", "sehr")
    assert read(f"parallel:{first},{second}").describe()["files"] == ["a.de", "b.en"]


def test_json_lines_by_side_or_by_language(tmp_path: Path) -> None:
    records = [
        {"source": "Guten Tag", "target": "Good day"},
        {
            "id": 7,
            "de": "Guten Tag!",
            "en": "Good day!",
            "de_words": ["Guten", "Tag", "!"],
            "en_words": ["Good", "day", "!"],
            "sure": [[0, 0]],
            "possible": [[1, 1]],
        },
    ]
    path = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records)))
    first, second = read(f"parallel:{path}")
    assert texts(first) == ("Guten Tag", "Good day")
    assert second.id == "7"
    assert second.alignment == (Link(0, 0, "sure"), Link(1, 1, "possible"))


def test_treebanks_are_texts_or_annotation(tmp_path: Path) -> None:
    german = write(tmp_path, "de.conllu", TREE)
    english = write(tmp_path, "en.conllu", ENGLISH)
    (both,) = read(f"parallel:{german},{english}")
    assert texts(both) == ("Guten Tag!", "Good day!")
    assert both.translation is not None
    assert both.heads == both.translation.heads == (1, -1, 1)
    pairs = write(tmp_path, "a.tsv", "Guten Tag!\tGood day!\n")
    corpus = read(f"parallel:{pairs}", source_annotation=german, target_annotation=english)
    (annotated,) = corpus
    assert annotated.heads == (1, -1, 1)
    assert annotated.translation is not None
    assert annotated.translation.relations == ("amod", "root", "punct")
    assert corpus.describe()["files"] == ["a.tsv", "de.conllu", "en.conllu"]
    with pytest.raises(InputError, match="is not the text 1"):
        list(read(f"parallel:{pairs}", source_annotation=english))
    with pytest.raises(InputError, match="only a corpus that is read as parallel:FILE"):
        read("tour", source_annotation=german)


def test_pairs_at_hand() -> None:
    corpus = parallel([("Guten Tag", "Good day")], "mine")
    assert [texts(one) for one in corpus] == [("Guten Tag", "Good day")]
    assert corpus.describe()["sha256"] != parallel([("Guten", "Good")]).describe()["sha256"]
    with pytest.raises(InputError, match="pair 1"):
        parallel([("Guten Tag", " ")])


BAD = {
    "a.tsv": ("eins\n", "line 1: 1 columns instead of 2"),
    "b.tsv": ("eins\t \n", "line 1: a text or its translation is empty"),
    "c.tsv": ("source\ttarget\talignment\na b\tc\t0-1\n", "from word 0 to word 1"),
    "d.tsv": ("source\ttarget\talignment\na b\tc\t0:0\n", "'0:0' is not a link"),
    "e.jsonl": ('{"source": "a"}', "no `source` and `target`"),
    "f.jsonl": ('{"source": "a", "target": 3}', "`target` must be a string"),
    "g.jsonl": ('{"source": "a", "target": "b", "sure": [[0]]}', "not \\[from, to\\]"),
    "h.jsonl": ("[1]", "not a JSON object"),
    "i.jsonl": ("{", "not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines_are_named(name: str, tmp_path: Path) -> None:
    text, message = BAD[name]
    with pytest.raises(InputError, match=message):
        list(read(f"parallel:{write(tmp_path, name, text)}"))


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    long, short = (write(tmp_path, name, text) for name, text in (("l", "a\nb\n"), ("s", "a\n")))
    with pytest.raises(InputError, match="ends after 1 texts"):
        list(read(f"parallel:{long},{short}"))
    with pytest.raises(InputError, match="ends before text 2"):
        list(read(f"parallel:{long},{long},{write(tmp_path, 'links', '0-0')}"))
    with pytest.raises(InputError, match="an empty line"):
        list(read(f"parallel:{write(tmp_path, 'e', chr(10))},{short}"))
    with pytest.raises(InputError, match="no such file"):
        read(f"parallel:{long},{tmp_path / 'none'}")
    with pytest.raises(InputError, match="4 files"):
        read("parallel:a,b,c,d")
