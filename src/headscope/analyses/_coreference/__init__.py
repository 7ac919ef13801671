"""Coreference: the page of antecedents."""
