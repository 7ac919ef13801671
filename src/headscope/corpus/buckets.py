"""Buckets of evidence: documents are hashed into a fixed number of them.

Sentences of one document are not independent, so documents are the units of evidence. Hashing
their ids into a fixed number of buckets bounds the memory of tallies for any corpus, and puts a
document into the same bucket in every run, for every model and language.
"""

from __future__ import annotations

import hashlib

BUCKETS = 128
"""Enough that 200 documents fill about 100 buckets; few enough that tallies stay small."""


def stable_hash(text: str) -> int:
    """A 64-bit hash of a text that is the same on every machine and in every process.

    >>> stable_hash("wsj_0001") == stable_hash("wsj_0001")
    True
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def bucket_of(unit: str) -> int:
    """The bucket of a document id (or of the id of an example that has no document).

    >>> 0 <= bucket_of("wsj_0001") < BUCKETS
    True
    """
    return stable_hash(unit) % BUCKETS
