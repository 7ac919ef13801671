"""The command line: options, error messages, terminal output."""

from headscope.cli.main import app, main

__all__ = ["app", "main"]
