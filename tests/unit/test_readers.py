"""Readers turn files into examples with stable ids, and bad lines into one clear message."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from headscope.corpus import Example, read
from headscope.corpus.example import Frame, Link, Mention
from headscope.corpus.readers.table import LABEL, PAIR, TEXT, read_csv
from headscope.errors import InputError

CONLLU = """\
# newdoc id = d1
# sent_id = d1-s1
# text = She didn't go.
# frame = Motion target=4 Theme=1
1	She	she	PRON	PRP	Number=Sing	4	nsubj	4:nsubj	Entity=(1)
2-3	didn't	_	_	_	_	_	_	_	_
2	did	do	AUX	VBD	_	4	aux	_	_
3	n't	not	PART	RB	_	4	advmod	_	_
4	go	go	VERB	VB	_	0	root	_	SpaceAfter=No
4.1	went	go	VERB	_	_	_	_	4:conj	_
5	.	.	PUNCT	.	_	4	punct	_	_

# sent_id = d1-s2
1	The	the	DET	DT	_	2	det	_	Entity=(2(1
2	cat	cat	NOUN	NN	_	0	root	_	Entity=1)2)

# newdoc id = d2
# sent_id = d2-s1
1	Yes	yes	INTJ	UH	_	0	root	_	_
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz"])
def test_conllu(tmp_path: Path, name: str) -> None:
    first, second, third = read(write(tmp_path, name, CONLLU))
    assert first.id == "d1-s1"
    assert [one.document for one in (first, second, third)] == ["d1", "d1", "d2"]
    assert first.words == ("She", "did", "n't", "go", ".")  # no ranges, no empty nodes
    assert first.spaces == (True, True, False, True, False)
    assert first.heads == (3, 3, 3, -1, 3)
    assert first.upos[1] == "AUX"
    assert first.mentions == (Mention(0, 1, "1"),)
    assert second.mentions == (Mention(0, 2, "1"), Mention(0, 2, "2"))
    assert first.frames == (Frame("Motion", 3, (("Theme", 0, 1),)),)


def test_conllx_takes_documents_from_sentence_ids(tmp_path: Path) -> None:
    rows = "1\tA\t_\tDT\tDT\t_\t2\tdet\t_\t_\n2\tb\t_\tNN\tNN\t_\t0\troot\t_\t_\n"
    text = f"# sent_id = wsj_0001-2\n{rows}"
    (example,) = read(write(tmp_path, "a.conllx", text))
    assert (example.document, example.xpos, example.upos) == ("wsj_0001", ("DT", "NN"), ())


def test_text_pairs_and_tables(tmp_path: Path) -> None:
    assert list(read(write(tmp_path, "a.txt", "\ufeffOne.\n\n Two. \r\n"))) == [
        Example("1", text="One."),
        Example("3", text="Two."),
    ]
    written = write(tmp_path, "b.txt", "One.\tTwo.")
    (pair,) = read(f"pairs:{written}")
    assert pair == Example("1", text="One.", pair="Two.")
    (row,) = read(write(tmp_path, "c.csv", 'id,sentence1,sentence2,score\nx,"a, ""b""",c,3\n'))
    assert row == Example("x", text='a, "b"', pair="c", label="3")
    (row,) = read(write(tmp_path, "c.tsv", 'text\tdocument\nsay "hi\td9\n'))
    assert row == Example("2", text='say "hi', document="d9")


def test_a_table_may_be_separated_by_semicolons(tmp_path: Path) -> None:
    text = 'text;pair;score\n"a; b";c, d;3\n'
    (row,) = read(write(tmp_path, "a.csv", text))
    assert row == Example("2", text="a; b", pair="c, d", label="3")
    (row,) = read(write(tmp_path, "b.csv", "text,note;s\nx;y,z\n"))  # a comma decides
    assert row == Example("2", text="x;y")


def test_a_table_without_a_text_column_names_all_columns_that_are_understood(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="no text column") as caught:
        list(read(write(tmp_path, "pairs.csv", "a,b,score\nx,y,1\n")))
    for name in (*TEXT, *PAIR, *LABEL, "id", "document"):
        assert name in str(caught.value)
        assert f"`{name}`" in (read_csv.__doc__ or "")


OUTSIDE = """
from headscope.corpus import Example, Frame, Link, Mention, reader


@reader("shouting", ".shout")
def read_shouting(path):
    \"""One text per line, in capitals.\"""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = tuple(line.upper().split())
        mention, frame = Mention(0, 1, "c"), Frame("F", 0, (("E", 1, 2),))
        links = (Link(0, 1, "next"),)
        yield Example(str(number), words=words, mentions=(mention,), frames=(frame,), links=links)


try:
    reader("csv")(read_shouting)
except Exception as error:
    print(error)
"""


def test_a_reader_from_outside(tmp_path: Path) -> None:
    """It is used by name and by extension, and cannot replace a built-in reader.

    In a process of its own, so that no built-in reader is loaded before the one from outside.
    """
    write(tmp_path, "plugin.py", OUTSIDE)
    info = tmp_path / "plugin-1.dist-info"
    info.mkdir()
    write(info, "METADATA", "Metadata-Version: 2.1\nName: plugin\nVersion: 1\n")
    write(info, "entry_points.txt", "[headscope.readers]\nplugin = plugin\n")
    write(tmp_path, "a.shout", "cats sleep\n")
    used = (
        "import sys; sys.path.insert(0, '.')\n"
        "from headscope.corpus import read\n"
        "from headscope.corpus.readers import readers\n"
        "assert list(read('a.shout')) == list(read('shouting:a.shout'))\n"
        "(example,) = read('a.shout')\n"
        "print(example.words, list(readers())[-1], readers()['shouting'].about)\n"
    )
    for first in ("", "import sys; sys.path.insert(0, '.'); import plugin\n"):
        command = [sys.executable, "-c", first + used]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert done.stdout.splitlines() == [
            "there is already a reader called 'csv'",
            "('CATS', 'SLEEP') shouting One text per line, in capitals.",
        ]


def test_json_lines(tmp_path: Path) -> None:
    lines = (
        '{"words": ["a", "b"], "links": [[0, 1, "next"]], "id": "k", "document": "d"}\n'
        '{"text": "x", "pair": "y", "label": 1}\n'
    )
    first, second = read(write(tmp_path, "a.jsonl", lines))
    assert first == Example("k", words=("a", "b"), links=(Link(0, 1, "next"),), document="d")
    assert second == Example("2", text="x", pair="y", label="1")


def test_paragraph_pairs_as_clark_fed_them(tmp_path: Path) -> None:
    text = " = A = \none\n\ntwo\nthree\n = = section = = \nfour\n = B = \nfive\nsix\n"
    pairs = list(read(f"paragraph-pairs:{write(tmp_path, 'a.txt', text)}"))
    assert [(one.text, one.pair, one.document) for one in pairs] == [
        ("one", "two", "A"),
        ("three", "four", "A"),
        ("five", "six", "B"),
    ]


def test_limit_and_documents(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conllu", CONLLU)
    assert [one.id for one in read(path, limit=1)] == ["d1-s1"]
    assert [one.id for one in read(path, documents="d2*")] == ["d2-s1"]


BROKEN = {
    "columns.conllu": ("1\tShe\tshe\n", r"line 1: 3 columns instead of 10"),
    "order.conllu": (CONLLU.replace("\n5\t.", "\n6\t."), r"line 11: word number '6' instead of 5"),
    "head.conllu": (CONLLU.replace("\t4\tnsubj", "\t9\tnsubj"), r"line 5: the head is '9'"),
    "open.conllu": (CONLLU.replace("Entity=(1)", "Entity=(1"), r"line 5: mention 1 begins but"),
    "shut.conllu": (CONLLU.replace("Entity=(1)", "Entity=1)"), r"line 5: mention 1 ends but"),
    "frame.conllu": (CONLLU.replace("target=4", "target=9"), r"line 4: a frame needs one target"),
    "span.conllu": (CONLLU.replace("Theme=1", "Theme=x"), r"line 4: 'Theme=x' is not ELEMENT="),
    "a.csv": ("a,b,score\nx,y,1\n", r"line 1: no text column in the header \(a, b, score\)"),
    "b.csv": ("text,label\nx\n", r"line 2: 1 columns instead of 2"),
    "c.csv": ('text\n"x\n', r"not CSV"),
    "d.tsv": ("text\tlabel\n\t1\n", r"line 2: the text is empty"),
    "a.jsonl": ("{\n", r"line 1: not JSON"),
    "b.jsonl": ("[1]\n", r"line 1: not a JSON object"),
    "c.jsonl": ('{"id": 1}\n', r"line 1: `text` and `words` are both missing"),
    "d.jsonl": ('{"words": ["a"], "links": [[0, 1, "x"]]}\n', r"line 1: a link is \[0, 1, \"x\"\]"),
    "e.jsonl": ('{"words": ["a", 1]}\n', r"line 1: `words` must be a list of strings"),
    "f.jsonl": ('{"words": ["a"], "pair": "b"}\n', r"line 1: with `words`, `pair` must be a list"),
    "g.jsonl": ('{"text": 3}\n', r"line 1: `text` and `pair` must be strings"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_is_named(tmp_path: Path, name: str) -> None:
    text, message = BROKEN[name]
    with pytest.raises(InputError, match=message) as caught:
        list(read(write(tmp_path, name, text)))
    assert str(tmp_path / name) in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"fine\nna\xefve\n")
    with pytest.raises(InputError, match=r"line 2: byte 0xef is not UTF-8"):
        list(read(tmp_path / "a.txt"))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"long " * 99)[:-9])
    with pytest.raises(InputError, match="damaged gzip file"):
        list(read(tmp_path / "b.txt.gz"))
    (tmp_path / "c.txt.gz").write_bytes(b"plain")
    with pytest.raises(InputError, match="damaged gzip file"):
        read(tmp_path / "c.txt.gz").describe()


def test_sources_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "none.txt")
    with pytest.raises(InputError, match=r"readers: conll2012"):
        read("nonsense:file.txt")
    with pytest.raises(InputError, match=r"unknown file format; write READER:a\.xyz"):
        read(write(tmp_path, "a.xyz", "x"))
    with pytest.raises(InputError, match="limit must be at least 1"):
        read("tour", limit=0)
    with pytest.raises(InputError, match="this is a folder"):
        list(read(f"text:{tmp_path}"))


ENTITIES = """\
# global.Entity = {header}
1	Ann	_	PROPN	_	_	2	nsubj	_	Entity={first}
1.1	_	_	PRON	_	_	_	_	_	Entity=(e9-x)
2	left	_	VERB	_	_	0	root	_	_
2.1	_	_	PRON	_	_	_	_	_	Entity=(e8-x
3	Bea	_	PROPN	_	_	2	obj	_	Entity={second}|X=1
4	now	_	ADV	_	_	2	advmod	_	Entity=e8)
"""


@pytest.mark.parametrize(
    ("header", "first", "second", "chains"),
    [
        ("GRP", "(1)", "(2)", ["1", "2"]),
        ("eid-etype-head-other", "(e1-person-1)", "(e2-person-1)", ["e1", "e2"]),
        ("eid-etype", "(e1[1/2]-person)", "(e1[2/2]-person)", ["e1", "e1"]),
    ],
)
def test_mentions_by_the_field_that_the_header_names(
    tmp_path: Path, header: str, first: str, second: str, chains: list[str]
) -> None:
    text = ENTITIES.format(header=header, first=first, second=second)
    (one,) = read(write(tmp_path, "a.conllu", text))
    spans = [(m.start, m.end, m.chain) for m in one.mentions]
    assert spans == [(0, 1, chains[0]), (2, 3, chains[1]), (2, 4, "e8")]  # e9 has no word
    old = ENTITIES.replace("(e9-x)", "(x-e9)").replace("(e8-x", "(x-e8").replace("e8)", "x-e8)")
    old = old.format(header="entity-GRP", first="(person-1)", second="(person-2)")
    (one,) = read(write(tmp_path, "b.conllu", old))
    assert [m.chain for m in one.mentions] == ["1", "2", "e8"]


def test_links_join_two_different_words_also_across_a_pair(tmp_path: Path) -> None:
    good = '{"words": ["a", "b"], "pair": ["c"], "links": [[0, 2, "x"]]}'
    (one,) = read(write(tmp_path, "a.jsonl", good))
    assert one.links == (Link(0, 2, "x"),)
    with pytest.raises(InputError, match=r"a link is \[1, 1, .* two positions from 0 to 2"):
        list(read(write(tmp_path, "b.jsonl", good.replace("0, 2", "1, 1"))))


def test_an_empty_frame_is_told(tmp_path: Path) -> None:
    broken = CONLLU.replace("# frame = Motion target=4 Theme=1", "# frame =")
    with pytest.raises(InputError, match="line 4: a frame needs one target"):
        list(read(write(tmp_path, "a.conllu", broken)))


def test_real_treebanks(data: Path) -> None:
    wsj = list(read(data / "wsj" / "wsj_0001-0199.sd-basic.conllx.gz"))
    assert len(wsj) == 3914
    assert len({one.document for one in wsj}) == 199
    assert sum(len(one.words) for one in wsj) == 94084
    ewt = list(read(data / "ud" / "en_ewt-ud-test.conllu.gz"))
    assert len(ewt) == 2077
    german, english = (
        list(read(data / "ud" / f"{language}_pud-ud-test.conllu.gz")) for language in ("de", "en")
    )
    assert [one.id for one in german] == [one.id for one in english]
    assert [one.document for one in german] == [one.document for one in english]
    gum = list(read(data / "coref" / "ontogum-dev.conllu.gz"))
    assert sum(len(one.mentions) for one in gum) == 3818
