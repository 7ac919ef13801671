"""How results show themselves in notebooks: as a widget where that is installed, else as HTML."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True)
class Html:
    """HTML that a notebook shows.

    >>> Html("<b>bold</b>")._repr_html_()
    '<b>bold</b>'
    """

    text: str

    def _repr_html_(self) -> str:
        return self.text


class ShownInNotebooks:
    """Has a `widget` and an HTML form: Jupyter, VS Code and Colab ask for a bundle, marimo for
    what to display.
    """

    @abstractmethod
    def widget(self) -> Any:
        """As a widget for notebooks (extra `notebook`)."""

    @abstractmethod
    def _repr_html_(self) -> str: ...

    @property
    def _has_widget(self) -> bool:
        return find_spec("anywidget") is not None

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if self._has_widget:
            return self.widget()._repr_mimebundle_(**options)
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

    def _display_(self) -> Any:
        return self.widget() if self._has_widget else Html(self._repr_html_())
