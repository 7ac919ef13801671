"""Lines of Python in a model card that use a saved model without headscope."""

from __future__ import annotations

from headscope.model.model import Model
from headscope.model.pruned.kept import remaining_heads
from headscope.model.pruned.modelling_file import auto_class
from headscope.model.pruned.sentence_files import pooling_mode, sentence_files

PIPELINES = {
    "AutoModel": "feature-extraction",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForCausalLM": "text-generation",
}
"""By the class that loads a network: the pipeline that uses it."""
POOLING = {
    "mean": [
        'mask = inputs["attention_mask"][..., None]',
        "vectors = (output * mask).sum(1) / mask.sum(1)",
    ],
    "cls": ["vectors = output[:, 0]"],
    "lasttoken": ['vectors = output[range(len(output)), inputs["attention_mask"].sum(1) - 1]'],
}
"""By the name of a pooling: lines that make one vector of each text."""


def loading_lines(model: Model, folder: str) -> str:
    """Lines that load a saved model with transformers.

    >>> from headscope.model import load, remove
    >>> print(loading_lines(remove(load("minilm"), "L3.H4"), "smaller"))
    from transformers import AutoModel, AutoTokenizer
    model = AutoModel.from_pretrained("smaller", trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained("smaller")
    """
    auto = auto_class(type(model.whole).__name__)
    return "\n".join(
        [
            f"from transformers import {auto}, AutoTokenizer",
            f'model = {auto}.from_pretrained("{folder}"{_trust(model)})',
            f'tokenizer = AutoTokenizer.from_pretrained("{folder}")',
        ]
    )


def speaking_lines(model: Model, folder: str) -> str | None:
    """Lines that have a saved model with an encoder and a decoder say something; None if it has
    none.
    """
    if not model.translates:
        return None
    return "\n".join(
        [
            loading_lines(model, folder),
            'inputs = tokenizer(["A text.", "Another."], padding=True, return_tensors="pt")',
            "print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))",
        ]
    )


def pipeline_lines(model: Model, folder: str) -> str | None:
    """Lines that make a pipeline of a saved model; None if transformers has none for its kind."""
    auto = auto_class(type(model.whole).__name__)
    if auto not in PIPELINES:
        return None
    kind = PIPELINES[auto]
    return "\n".join(
        ["from transformers import pipeline", f'pipeline("{kind}", "{folder}"{_trust(model)})']
    )


def sentence_lines(model: Model, folder: str) -> str | None:
    """Lines that load it with sentence-transformers; None if the original was not made for it."""
    if not sentence_files(model):
        return None
    return "\n".join(
        [
            "from sentence_transformers import SentenceTransformer",
            f'SentenceTransformer("{folder}"{_trust(model)}).encode(["A text.", "Another."])',
        ]
    )


def onnx_lines(model: Model, folder: str) -> str:
    """Lines that run its ONNX file, with the pooling of the original where it is known."""
    mode = pooling_mode(sentence_files(model))
    return "\n".join(
        [
            "import onnxruntime",
            "from transformers import AutoTokenizer",
            f'tokenizer = AutoTokenizer.from_pretrained("{folder}")',
            f'session = onnxruntime.InferenceSession("{folder}/model.onnx")',
            'inputs = tokenizer(["A text.", "Another."], padding=True, return_tensors="np")',
            "names = [each.name for each in session.get_inputs()]",
            "output = session.run(None, {name: inputs[name] for name in names})[0]",
            *POOLING.get(mode or "", []),
        ]
    )


def _trust(model: Model) -> str:
    """The argument that lets transformers run the modelling file of a pruned model."""
    return "" if remaining_heads(model.network.config) is None else ", trust_remote_code=True"
