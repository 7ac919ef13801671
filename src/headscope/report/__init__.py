"""What a person looks at; it reads results and never runs a model."""

from headscope.report.page import write_report

__all__ = ["write_report"]
