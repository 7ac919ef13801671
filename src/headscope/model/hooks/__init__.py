"""Hooks into a model: the tap on its attention, its heads' outputs, gradients, relevance."""
