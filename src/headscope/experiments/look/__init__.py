"""Look: the attention map of every head on one text, in a notebook or as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope._util.notebook import ShownInNotebooks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from headscope.analyses._shapes.classifier import Shape
    from headscope.model import Model
    from headscope.model.attention import Seen
    from headscope.report.payload import Payload


@dataclass(frozen=True)
class Look(ShownInNotebooks):
    """The attention of every head on one text.

    Attributes:
        tokens: as a reader would write them.
        maps: (layer, head, query, key) weights; the row of a token says where it looks.
        sentence: 0 or 1 for tokens of the first or second text, -1 for specials.
        ids: of the tokens.

    In a notebook it shows itself; `save` writes the same page to a file.
    """

    title: str
    tokens: tuple[str, ...]
    maps: NDArray[np.float32]
    sentence: tuple[int, ...]
    ids: tuple[int, ...]

    def head(self, layer: int, head: int) -> NDArray[np.float32]:
        """(query, key) the map of one head."""
        attention: NDArray[np.float32] = self.maps[layer, head]
        return attention

    def shape(self, layer: int, head: int) -> Shape:
        """The shape of one map: vertical, diagonal, both, block or heterogeneous.

        >>> look("minilm", "The cat that we fed sat down.").shape(0, 2).name
        'diagonal'
        """
        from headscope.analyses._shapes.classifier import classify

        return classify(self.maps[layer, head], self.sentence, self.ids)

    def rollout(self) -> NDArray[np.float64]:
        """(layer, query, key) how much of each token is in each token after each layer."""
        from headscope.analyses.rollout import rollout

        return rollout(self.maps)

    def page(self) -> str:
        """The page with every head's map; of a long text, its first tokens."""
        from headscope.report.page import look_page

        return look_page(self._payload())

    def widget(self) -> Any:
        """The same as a widget for notebooks (extra `notebook`)."""
        from headscope.report.widget import widget

        return widget(self._payload())

    def _payload(self) -> Payload:
        import numpy as np

        from headscope.corpus.display import MAX_TOKENS
        from headscope.report.payload import Payload

        levels = np.round(self.maps[:, :, :MAX_TOKENS, :MAX_TOKENS] * 255).astype(np.uint8)
        layers, heads = levels.shape[:2]
        maps = {
            (layer, head): levels[layer, head].tobytes()
            for layer in range(layers)
            for head in range(heads)
        }
        text = {"id": self.title, "tokens": list(self.tokens[:MAX_TOKENS])}
        payload = Payload()
        payload.add_text(self.title, text, maps)
        return payload

    def save(self, path: Path | str) -> Path:
        """Write the page: one HTML file that needs no network."""
        from headscope._util.atomic import write_text

        write_text(Path(path), self.page())
        return Path(path)

    def _repr_html_(self) -> str:
        import html

        frame = html.escape(self.page(), quote=True)
        return f'<iframe srcdoc="{frame}" style="width:100%;height:640px;border:0"></iframe>'

    def __repr__(self) -> str:
        layers, heads = self.maps.shape[:2]
        return f"{self.title}: {layers} x {heads} heads on {len(self.tokens)} tokens"


def look(model: Model | str | Path, text: str, pair: str | None = None) -> Look:
    """Look at one text (or pair of texts) through every head.

    >>> seen = look("minilm", "The cat that we fed sat down.")
    >>> seen
    minilm: 6 x 12 heads on 10 tokens
    >>> round(float(seen.head(0, 2)[3, 2]), 2)  # looks at the previous token
    1.0
    """
    import numpy as np

    from headscope.corpus import Example
    from headscope.errors import HeadscopeError
    from headscope.model import Model, load
    from headscope.model.attention import MapWatcher

    model = model if isinstance(model, Model) else load(model)
    model.check_one_stack("a look at one text")
    if not text.strip():
        raise HeadscopeError("the text is empty: there is nothing to look at")
    (pieces,) = model.encode([Example("text", text=text, pair=pair)])
    if pieces.lost:
        length = len(pieces) + pieces.lost
        raise HeadscopeError(
            f"the text has {length} pieces, and {model.name} reads {len(pieces)} at most"
        )
    maps: list[NDArray[np.float32]] = []

    def keep(_: Seen, weights: Tensor) -> None:
        maps.append(weights[0].cpu().numpy().copy())

    with model.watch(MapWatcher(keep)) as tap:
        tap.forward(model.batch([pieces]))
    sentence = np.where(pieces.special, -1, pieces.second).tolist()
    tokens = tuple(model.tokens(pieces))
    return Look(model.name, tokens, np.stack(maps), tuple(sentence), tuple(pieces.ids.tolist()))
