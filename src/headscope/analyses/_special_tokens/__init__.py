"""Attention to special tokens: what resting on them means."""
