"""Hooks: observe attention, replace head outputs, run variants, follow gradients and relevance."""
