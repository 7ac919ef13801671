"""What is registered: the pages of analyses and experiments, and the rules of roles."""

from __future__ import annotations

from importlib import import_module

from headscope._util.plugins import load_experiment_modules, registered_analyses
from headscope.evidence import RoleRule


def load_sections() -> None:
    """Import the `section` module of every experiment and of every analysis that has a page."""
    load_experiment_modules("section")
    for kind in registered_analyses().values():
        if kind.page:
            import_module(kind.page)


def role_rules() -> tuple[tuple[str, RoleRule], ...]:
    """The rules of all analyses with the analysis of each, the more telling ones first."""
    rules = [(name, rule) for name, kind in registered_analyses().items() for rule in kind.roles]
    return tuple(sorted(rules, key=lambda entry: entry[1].rank))
