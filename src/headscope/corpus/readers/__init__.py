"""Readers: each turns a file into examples and is registered by name and file extension.

`headscope.corpus.readers.registry` says what a reader must yield. The built-in readers are
imported when one is first looked up.
"""

from headscope.corpus.readers.registry import Read, Reader, reader, reader_for, readers

__all__ = ["Read", "Reader", "reader", "reader_for", "readers"]
