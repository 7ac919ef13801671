"""Tiny random models of families that differ in how they attend, each for a cause of its own."""

from __future__ import annotations

from functools import cache

from transformers import PreTrainedModel

from families import tiny
from headscope.model import Model, wrap
from headscope.testing import tiny_tokenizer

DECODERS = (
    "llama",  # keys and values are shared by heads
    "gemma2",  # soft caps, windows
    "gpt_oss",  # sinks, experts
    "mixtral",
    "deepseek_v3",
    "deepseek_v32",  # sparse
    "diffllama",  # two values for one map
    "apertus",  # weights without a dimension
    "afmoe",  # a gate after the heads
    "jamba",  # only some layers attend
    "laguna",  # layers with different numbers of heads
    "bloom",  # calls no function; a mask of its own
    "gptj",
    "gpt_neo",
    "falcon",
)
ENCODERS = (
    "xlnet",  # a product by an equation
    "convbert",  # reads a padded text otherwise
    "data2vec-text",  # reserved positions
)


@cache
def family_network(family: str) -> PreTrainedModel:
    """A tiny random network of a family, its weights large enough for heads to differ."""
    return tiny.family_network(family)


def family_model(family: str) -> Model:
    """The same with a tokenizer, ready to be watched."""
    return wrap(family_network(family), tiny_tokenizer(decoder=family in DECODERS), family)
