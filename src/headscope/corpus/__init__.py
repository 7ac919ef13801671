"""What the model is shown: readers, examples, the alignment of words and pieces, batches.

A reader that is written outside the package needs `reader` and the records that it fills:
`Example`, `Mention`, `Frame`, `Link`. The names below are imported on first use.
"""

from typing import TYPE_CHECKING

from headscope._util.lazy import attach

if TYPE_CHECKING:
    from headscope.corpus.annotation import Annotation
    from headscope.corpus.batching import Budget, plan_batches
    from headscope.corpus.buckets import BUCKETS, bucket_of, stable_hash
    from headscope.corpus.conventions import Conventions
    from headscope.corpus.corpus import Corpus, read
    from headscope.corpus.example import Example, Frame, Link, Mention
    from headscope.corpus.files import word_list
    from headscope.corpus.frequencies import frequencies_from
    from headscope.corpus.paired_pieces import PairedPieces
    from headscope.corpus.parallel_corpora import parallel
    from headscope.corpus.pieces import Pieces, encode, marks_spaces, truncate
    from headscope.corpus.readers.glue import GLUE_TASKS
    from headscope.corpus.readers.registry import Reader, reader
    from headscope.corpus.repeated import repeated_tokens
    from headscope.corpus.survey import CorpusFacts, Survey
    from headscope.corpus.windows import pack

__all__ = [
    "BUCKETS",
    "GLUE_TASKS",
    "Annotation",
    "Budget",
    "Conventions",
    "Corpus",
    "CorpusFacts",
    "Example",
    "Frame",
    "Link",
    "Mention",
    "PairedPieces",
    "Pieces",
    "Reader",
    "Survey",
    "bucket_of",
    "encode",
    "frequencies_from",
    "marks_spaces",
    "pack",
    "parallel",
    "plan_batches",
    "read",
    "reader",
    "repeated_tokens",
    "stable_hash",
    "truncate",
    "word_list",
]

_MODULES = {
    "BUCKETS": "headscope.corpus.buckets",
    "GLUE_TASKS": "headscope.corpus.readers.glue",
    "Annotation": "headscope.corpus.annotation",
    "Budget": "headscope.corpus.batching",
    "Conventions": "headscope.corpus.conventions",
    "Corpus": "headscope.corpus.corpus",
    "CorpusFacts": "headscope.corpus.survey",
    "Example": "headscope.corpus.example",
    "Frame": "headscope.corpus.example",
    "Link": "headscope.corpus.example",
    "Mention": "headscope.corpus.example",
    "PairedPieces": "headscope.corpus.paired_pieces",
    "Pieces": "headscope.corpus.pieces",
    "Reader": "headscope.corpus.readers.registry",
    "Survey": "headscope.corpus.survey",
    "bucket_of": "headscope.corpus.buckets",
    "encode": "headscope.corpus.pieces",
    "frequencies_from": "headscope.corpus.frequencies",
    "marks_spaces": "headscope.corpus.pieces",
    "pack": "headscope.corpus.windows",
    "parallel": "headscope.corpus.parallel_corpora",
    "plan_batches": "headscope.corpus.batching",
    "read": "headscope.corpus.corpus",
    "reader": "headscope.corpus.readers.registry",
    "repeated_tokens": "headscope.corpus.repeated",
    "stable_hash": "headscope.corpus.buckets",
    "truncate": "headscope.corpus.pieces",
    "word_list": "headscope.corpus.files",
}
if not TYPE_CHECKING:  # a type checker must not accept every name
    __getattr__, __dir__ = attach(__name__, _MODULES)
