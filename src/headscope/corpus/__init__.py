"""What the model is shown: readers, examples, the alignment of words and pieces, batches."""

from headscope.corpus.annotation import Annotation
from headscope.corpus.batching import Budget, plan
from headscope.corpus.buckets import BUCKETS, bucket_of, stable_hash
from headscope.corpus.conventions import Conventions
from headscope.corpus.corpus import Corpus, read
from headscope.corpus.example import Example, Frame, Link, Mention
from headscope.corpus.files import word_list
from headscope.corpus.frequencies import frequencies_from
from headscope.corpus.pieces import Pieces, cut, encode, marks_spaces
from headscope.corpus.readers.glue import LAYOUTS
from headscope.corpus.repeated import repeated_tokens
from headscope.corpus.survey import Facts, Survey
from headscope.corpus.windows import pack

__all__ = [
    "BUCKETS",
    "LAYOUTS",
    "Annotation",
    "Budget",
    "Conventions",
    "Corpus",
    "Example",
    "Facts",
    "Frame",
    "Link",
    "Mention",
    "Pieces",
    "Survey",
    "bucket_of",
    "cut",
    "encode",
    "frequencies_from",
    "marks_spaces",
    "pack",
    "plan",
    "read",
    "repeated_tokens",
    "stable_hash",
    "word_list",
]
