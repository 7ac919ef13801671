"""Default values that the command line shows in its help, importable without torch."""

EPSILON = 1e-3
"""Stabiliser of the epsilon rule of layer-wise relevance propagation."""
