"""What is registered: the pages of analyses and experiments, and the rules of roles."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from headscope._util.plugins import experiment_packages, registered_analyses
from headscope.evidence import RoleRule


def load_sections() -> None:
    """Import the `section` module of every experiment and of every analysis that has a page."""
    for package in experiment_packages():
        try:  # TEMPORARY until every experiment is converted
            if find_spec(f"{package}.section") is not None:
                import_module(f"{package}.section")
        except (ImportError, TypeError, NameError, AttributeError):
            continue
    for kind in registered_analyses().values():
        if kind.page:
            import_module(kind.page)


def role_rules() -> tuple[tuple[str, RoleRule], ...]:
    """The rules of all analyses with the analysis of each, the more telling ones first."""
    rules = [(name, rule) for name, kind in registered_analyses().items() for rule in kind.roles]
    return tuple(sorted(rules, key=lambda entry: entry[1].rank))
