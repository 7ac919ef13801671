"""Which bucket of the evidence an example falls into.

Sentences of one document are not independent, so the unit of evidence is the document. Its id
is hashed into one of a fixed number of buckets: tallies then need constant memory whatever the
corpus, and the same document falls into the same bucket in every run, model and language.
"""

from __future__ import annotations

import hashlib

BUCKETS = 128
"""Enough that 200 documents keep about 100 units; few enough that tallies stay small."""


def stable_hash(text: str) -> int:
    """A 64-bit hash of a text that is the same on every machine and in every process.

    >>> stable_hash("wsj_0001") == stable_hash("wsj_0001")
    True
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def bucket_of(unit: str) -> int:
    """The bucket of a document (or of an example that has no document).

    >>> 0 <= bucket_of("wsj_0001") < BUCKETS
    True
    """
    return stable_hash(unit) % BUCKETS
