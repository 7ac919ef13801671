"""Shapes of attention maps: features, the classifier, the page."""
