"""Tiny random models of every family, with a tokenizer that needs no file."""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    AlbertConfig,
    BertConfig,
    BloomConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    GPT2Config,
    LlamaConfig,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedModel,
    RobertaConfig,
)

from headscope.model import Model, wrap
from headscope.testing import SIZES, VOCABULARY, tiny_network, tiny_tokenizer

SMALL = dict(SIZES)
DISTIL: dict[str, Any] = {
    "vocab_size": len(VOCABULARY),
    "dim": 32,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 48,
    "max_position_embeddings": 64,
    "initializer_range": 0.4,
}
GPT: dict[str, Any] = {
    "vocab_size": len(VOCABULARY),
    "n_embd": 32,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 64,
    "initializer_range": 0.4,
    "bos_token_id": 2,
    "eos_token_id": 3,
}

WINDOW: dict[str, Any] = {
    "local_attention": 8,
    "global_attn_every_n_layers": 3,
    "pad_token_id": 0,
}
DISENTANGLED: dict[str, Any] = {
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "position_buckets": 8,
}

CONFIGS = {
    "bert": BertConfig(**SMALL),
    "roberta": RobertaConfig(**SMALL, pad_token_id=0),
    "distilbert": DistilBertConfig(**DISTIL),
    "electra": ElectraConfig(**SMALL, embedding_size=16),
    "albert": AlbertConfig(**SMALL, embedding_size=16),
    "modernbert": ModernBertConfig(**SMALL, **WINDOW),
    "gpt2": GPT2Config(**GPT),
    "mpnet": MPNetConfig(**SMALL, pad_token_id=1),
    "deberta-v2": DebertaV2Config(**SMALL, **DISENTANGLED),
}
UNKNOWN = {  # families that no adapter knows: found out by a dry run
    "llama": LlamaConfig(**SMALL, num_key_value_heads=2),
    "bloom": BloomConfig(vocab_size=len(VOCABULARY), hidden_size=32, n_layer=3, n_head=4),
}


def network(family: str, seed: int = 1) -> PreTrainedModel:
    """A tiny random model without dropout; weights are large, so that heads differ.

    A family with the usual names in its configuration needs no entry in `CONFIGS`.
    """
    return tiny_network((CONFIGS | UNKNOWN).get(family, family), seed)


def tiny_that_knows_nothing() -> Model:
    """A tiny model with weights near 0: every head looks everywhere alike."""
    model = tiny("bert")
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.mul_(0.01)
    return model


def tiny(family: str, seed: int = 1) -> Model:
    """A tiny random model, ready to be watched."""
    decoder = family in ("gpt2", "llama", "bloom")
    return wrap(network(family, seed), tiny_tokenizer(decoder), family)
