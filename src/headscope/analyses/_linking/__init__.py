"""Heads that find linked words: what dependencies and links share."""
