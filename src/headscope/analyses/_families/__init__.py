"""Families of heads: the page of distances."""
