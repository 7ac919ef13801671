"""What is registered: the pages of analyses and experiments, and the rules of roles."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from headscope._util.plugins import load_experiment_modules, registered_analyses
from headscope.evidence import RoleRule

JOINED = "joined_section"
"""The module with sections that join several runs or corpora, where one is too long for both."""
PAGES = ("section", JOINED)


def load_sections() -> None:
    """Import the `section` module of every experiment and of every analysis that has a page."""
    for name in PAGES:
        load_experiment_modules(name)
    for kind in registered_analyses().values():
        if kind.page:
            import_module(kind.page)
            joined = f"{kind.page.rpartition('.')[0]}.{JOINED}"
            if find_spec(joined) is not None:
                import_module(joined)


def role_rules() -> tuple[tuple[str, RoleRule], ...]:
    """The rules of all analyses with the analysis of each, the more telling ones first."""
    rules = [(name, rule) for name, kind in registered_analyses().items() for rule in kind.roles]
    return tuple(sorted(rules, key=lambda entry: entry[1].rank))
