"""What is computed from attention as it streams by: one file, one class, one idea each.

A new file here that registers an analysis is found by itself, and so is one that another package
declares as an entry point `headscope.analyses`; nothing else has to change.
"""

from headscope.analyses.base import (
    Analysis,
    Arc,
    Inputs,
    Needs,
    Scene,
    analyses,
    analysis,
    choose,
    describe_class,
    option,
    resolve_options,
)

__all__ = [
    "Analysis",
    "Arc",
    "Inputs",
    "Needs",
    "Scene",
    "analyses",
    "analysis",
    "choose",
    "describe_class",
    "option",
    "resolve_options",
]
