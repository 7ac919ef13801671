"""Pruned models: heads removed for good, saved and exported."""
