"""What the model is shown: readers, examples, the alignment of words and pieces, batches."""

from headscope.corpus.batching import Budget, plan
from headscope.corpus.buckets import BUCKETS, bucket_of, stable_hash
from headscope.corpus.corpus import Corpus, Survey, read
from headscope.corpus.example import Example
from headscope.corpus.frequencies import frequencies_from
from headscope.corpus.pieces import Pieces, cut, encode

__all__ = [
    "BUCKETS",
    "Budget",
    "Corpus",
    "Example",
    "Pieces",
    "Survey",
    "bucket_of",
    "cut",
    "encode",
    "frequencies_from",
    "plan",
    "read",
    "stable_hash",
]
