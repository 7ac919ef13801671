"""The Python file in the folder of a pruned model by which transformers itself loads the folder."""

from __future__ import annotations

import inspect

from headscope.model.model import Model
from headscope.model.pruned.shapes import HeadBias, HeadLinear, resize, share_rows

NAME = "modeling_pruned"
AUTO_CLASS_NAMES = {
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForMaskedLM": "AutoModelForMaskedLM",
    "ForCausalLM": "AutoModelForCausalLM",
    "ForConditionalGeneration": "AutoModelForSeq2SeqLM",
    "MTModel": "AutoModelForSeq2SeqLM",
}
"""By the end of the name of a network's class: the class that loads it."""
PARTS = (HeadLinear, HeadBias, share_rows, resize)
"""What the file needs of this package; its source is copied."""
HEAD = '''"""A pruned model, written by headscope: its modules have the shapes of config.json."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
{imports}

'''
CLASS = '''
class {name}(Intact{name}):
    """The network without the heads that were removed."""

    def __init__(self, config, *arguments, **options):
        super().__init__(config, *arguments, **options)
        resize(self.base_model, config.headscope_shapes)

    # transformers treats classes from elsewhere with care: it does not convert their checkpoints,
    # and looks into their file to learn what they can do. This one has only modules of its own.
    @classmethod
    def is_custom_code(cls):
        return False

    @classmethod
    def _can_set_attn_implementation(cls):
        return Intact{name}._can_set_attn_implementation()

    @classmethod
    def _can_set_experts_implementation(cls):
        return Intact{name}._can_set_experts_implementation()
'''


def auto_class(name: str) -> str:
    """The class of transformers that loads a network of a class.

    >>> auto_class("LlamaForCausalLM"), auto_class("BertModel")
    ('AutoModelForCausalLM', 'AutoModel')
    """
    known = (auto for end, auto in AUTO_CLASS_NAMES.items() if name.endswith(end))
    return next(known, "AutoModel")


def modelling_file(model: Model) -> tuple[str, dict[str, str]]:
    """The text of the file, and the entry `auto_map` of the configuration for its classes."""
    kinds = {type(network) for network in (model.network, model.whole)}
    imports = sorted(
        f"from {kind.__module__} import {kind.__name__} as Intact{kind.__name__}" for kind in kinds
    )
    parts = [HEAD.format(imports="\n".join(imports))]
    parts += [inspect.getsource(part) + "\n" for part in PARTS]
    parts += [CLASS.format(name=kind.__name__) for kind in sorted(kinds, key=lambda k: k.__name__)]
    auto_map = {auto_class(kind.__name__): f"{NAME}.{kind.__name__}" for kind in kinds}
    return "\n".join(parts), auto_map
