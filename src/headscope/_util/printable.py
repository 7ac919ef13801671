"""Text from corpora, labels and file names, made safe to print on a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and marks that turn the direction of writing around."""


def printable(text: str) -> str:
    r"""The text without control characters, which a terminal would obey.

    >>> printable("red \x1b[31mlabel\x07")
    'red [31mlabel'
    """
    return _UNSAFE.sub("", text)
