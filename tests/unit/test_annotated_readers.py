"""Readers of coreference and of frames, on files written here and on the real ones."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from headscope.analyses.frames import FrameOptions
from headscope.corpus import Frame, Mention, read
from headscope.corpus.frames import select_frames
from headscope.errors import InputError

KOVALEVA = asdict(FrameOptions())
COLUMNS = "doc\t0\t{n}\t{word}\t{tag}\t-\t-\t-\t-\tspeaker\t*\t*\t*\t{chain}"


def conll2012(*sentences: list[tuple[str, str, str]]) -> str:
    lines = ["#begin document (doc); part 000"]
    for sentence in sentences:
        lines += [
            COLUMNS.format(n=n, word=w, tag=t, chain=c) for n, (w, t, c) in enumerate(sentence)
        ] + [""]
    return "\n".join([*lines, "#end document"]) + "\n"


FIRST = [("The", "DT", "(3|(4"), ("baker", "NN", "4)"), ("of", "IN", "-"), ("Bath", "NNP", "3)")]
SECOND = [("He", "PRP", "(3)"), ("left", "VBD", "-")]


def test_conll2012(tmp_path: Path) -> None:
    path = tmp_path / "a.v4_gold_conll"
    path.write_text(conll2012(FIRST, SECOND))
    one, two = read(path)
    assert (one.document, two.document) == ("doc part 0", "doc part 0")
    assert one.id != two.id
    assert one.words == ("The", "baker", "of", "Bath")
    assert one.xpos == ("DT", "NN", "IN", "NNP")
    assert one.mentions == (Mention(0, 2, "4"), Mention(0, 4, "3"))
    assert two.mentions == (Mention(0, 1, "3"),)


@pytest.mark.parametrize(
    ("chain", "message"), [("(9", "begins but never ends"), ("9)", "never begins")]
)
def test_broken_brackets_name_their_line(tmp_path: Path, chain: str, message: str) -> None:
    path = tmp_path / "a.v4_auto_conll"
    path.write_text(conll2012([("a", "X", "-"), ("b", "X", chain)]))
    with pytest.raises(InputError, match=rf"line 3: .*{message}"):
        list(read(path))
    path.write_text("#begin document (d); part 000\nd 0 0 word\n")
    with pytest.raises(InputError, match="line 2: 4 columns"):
        list(read(path))


def test_winobias_adds_the_other_occupation(tmp_path: Path) -> None:
    path = tmp_path / "w.conll"
    words = ["The", "cook", "saw", "the", "nurse", "as", "he", "left"]
    one, two = (
        [(word, "-", chains.get(n, "-")) for n, word in enumerate(words)]
        for chains in ({0: "(1", 1: "1)", 6: "(1)"}, {3: "(1", 4: "1)", 6: "(1)"})
    )
    path.write_text(conll2012(one, two))
    first, second = read(f"winobias:{path}")
    assert first.mentions[2:] == (Mention(4, 5, "other 4"),)
    assert second.mentions[2:] == (Mention(1, 2, "other 1"),)
    assert first.xpos == ()


HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def test_gap(tmp_path: Path) -> None:
    path = tmp_path / "gap.tsv"
    path.write_text(
        HEADER + 'd-1\tAnn\'s aunt Bea Lee said she "won".\tshe\t24\tAnn\t0\tFALSE\t'
        "Bea Lee\t11\tTRUE\turl\n"
    )
    (one,) = read(f"gap:{path}")
    assert one.words == ("Ann", "'", "s", "aunt", "Bea", "Lee", "said", "she", '"', "won", '"', ".")
    assert one.spaces[:4] == (True, False, False, True)
    assert one.mentions == (Mention(0, 1, "A"), Mention(4, 6, "pronoun"), Mention(7, 8, "pronoun"))
    path.write_text(HEADER + "d-1\tAnn left.\tshe\t99\tAnn\t0\tFALSE\tBea\t0\tTRUE\turl\n")
    with pytest.raises(InputError, match="line 2: Pronoun 'she' is not at offset '99'"):
        list(read(f"gap:{path}"))
    path.write_text("a\tb\n")
    with pytest.raises(InputError, match="must have the columns"):
        list(read(f"gap:{path}"))


def test_framenet_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    whole = {
        "text": "The old king gave them a horse .",
        "frame": "Giving",
        "target": [[13, 16]],
        "fe": [["Donor", 0, 11, "Core"], ["Theme", 23, 29, "Core"], ["Time", 18, 21, "Peripheral"]],
        "sid": "7",
    }
    listed = {
        "sid": "8",
        "doc": "d",
        "text": whole["text"],
        "frames": [whole, whole | {"target": [[0, 2], [4, 6]]}],
    }
    strings = {
        "sentence": "She smiled , and the girl smiled back .",
        "target": "smiled",
        "core_fes": ["the girl"],
    }
    path.write_text("\n".join(json.dumps(one) for one in (whole, listed, strings)))
    one, two, three = read(f"framenet:{path}")
    giving = Frame("Giving", 3, (("Donor", 0, 3), ("Theme", 5, 7)))
    assert one.frames == (giving,)
    assert (two.frames, two.document) == ((giving,), "d")  # two targets are not one
    assert three.frames == (Frame("unknown", 1, (("Core", 4, 6),)),)
    path.write_text('{"text": "a"}\n')
    with pytest.raises(InputError, match="line 1: not a FrameNet sentence"):
        list(read(f"framenet:{path}"))


FRAME = """<?xml version="1.0" encoding="UTF-8"?>
<frame xmlns="http://framenet.icsi.berkeley.edu" cBy="x" cDate="x" name="Giving" ID="1">
<definition>A frame.</definition>
<FE bgColor="1" fgColor="F" coreType="Core" cBy="x" cDate="x" abbrev="D" name="Donor" ID="1">
<definition>d</definition></FE>
<FE bgColor="1" fgColor="F" coreType="Peripheral" cBy="x" cDate="x" abbrev="T" name="Time" ID="2">
<definition>d</definition></FE>
<lexUnit status="Finished_Initial" POS="V" name="give.v" ID="1" lemmaID="1" cBy="x" cDate="x">
<definition>d</definition><sentenceCount annotated="1" total="1"/>
<lexeme order="1" headword="false" breakBefore="false" POS="V" name="give"/></lexUnit>
</frame>"""
UNIT = """<?xml version="1.0" encoding="UTF-8"?>
<lexUnit xmlns="http://framenet.icsi.berkeley.edu" status="Finished_Initial" POS="V" name="give.v"
 ID="1" frame="Giving" frameID="1" totalAnnotated="1">
<definition>d</definition><lexeme POS="V" name="give"/>
<subCorpus name="one"><sentence sentNo="0" aPos="1" ID="55"><text>The old king gave twice .</text>
<annotationSet cDate="x" status="UNANN" ID="1"><layer rank="1" name="PENN">
<label end="2" start="0" name="DT"/></layer></annotationSet>
<annotationSet cDate="x" status="MANUAL" ID="2">
<layer rank="1" name="FE"><label cBy="x" end="11" start="0" name="Donor" feID="1" bgColor="1"
 fgColor="F"/><label cBy="x" end="22" start="18" name="Time" feID="2" bgColor="1" fgColor="F"/>
</layer>
<layer rank="1" name="GF"/><layer rank="1" name="PT"/>
<layer rank="1" name="Target"><label cBy="x" end="16" start="13" name="Target"/></layer>
</annotationSet></sentence></subCorpus></lexUnit>"""
INDEX = '<?xml version="1.0" encoding="UTF-8"?>\n<{0} xmlns="http://framenet.icsi.berkeley.edu">{1}</{0}>'


def test_framenet_as_nltk_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "framenet_v17"
    for name in ("frame", "lu", "fulltext"):
        (folder / name).mkdir(parents=True)
    (folder / "frame" / "Giving.xml").write_text(FRAME)
    (folder / "lu" / "lu1.xml").write_text(UNIT)
    entries = {
        "frameIndex": '<frame cDate="x" name="Giving" ID="1"/>',
        "luIndex": '<lu hasAnnotation="true" frameID="1" frameName="Giving" status="Finished" '
        'name="give.v" ID="1"/>',
        "fulltextIndex": "",
        "frameRelations": "",
        "semTypes": "",
    }
    for name, inside in entries.items():
        file = {"frameRelations": "frRelation"}.get(name, name)
        (folder / f"{file}.xml").write_text(INDEX.format(name, inside))
    corpus = read(f"nltk-framenet:{folder}")
    (one,) = corpus
    assert one.words == ("The", "old", "king", "gave", "twice", ".")
    assert one.frames == (Frame("Giving", 3, (("Donor", 0, 3),)),)
    assert len(corpus.describe()["sha256"][0]) == 64
    with pytest.raises(InputError, match=r"no frameIndex\.xml"):
        list(read(f"nltk-framenet:{tmp_path}"))


def test_real_annotated_corpora(data: Path) -> None:
    folder = data / "coref" / "winobias"
    wino = list(read(f"winobias:{folder / 'dev_type1_pro_stereotype.v4_auto_conll.gz'}"))
    assert len(wino) == 396
    assert set(Counter(len(one.mentions) for one in wino)) == {3, 4}
    gap = list(read(f"gap:{data / 'coref' / 'gap-development.tsv.gz'}"))
    assert len(gap) == 2000
    assert all(len(one.mentions) == 3 for one in gap)
    frames = data / "framenet"
    for name, passing in (
        ("framenet17_kovaleva_473.jsonl", 473),
        ("framenet17_kovaleva_473_with_fn15_labels.jsonl", 468),
    ):
        examples = list(read(f"framenet:{frames / name}"))
        assert sum(any(select_frames(one, **KOVALEVA)) for one in examples) == passing
    assert sum(len(one.frames) for one in read(f"framenet:{frames / 'fulltext.jsonl.gz'}")) > 12_000
