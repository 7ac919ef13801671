"""Sizes of tiny networks, and what single families need beside them."""

from __future__ import annotations

from typing import Any

from headscope.testing import VOCABULARY


def _named(names: str, value: int) -> dict[str, int]:
    return dict.fromkeys(names.split(), value)


def _families(names: str, *settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    merged = {key: value for each in settings for key, value in each.items()}
    return {name: dict(merged) for name in names.split()}


LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers")
VOCABULARIES = (
    "vocab_size",
    "src_vocab_size",
    "tgt_vocab_size",
    "decoder_vocab_size",
    "vocab_size_per_layer_input",
    "entity_vocab_size",
)
TOKENS = (
    {"pad_token_id": 0, "unk_token_id": 1, "mask_token_id": 4}
    | _named("bos_token_id cls_token_id decoder_start_token_id", 2)
    | _named("eos_token_id sep_token_id forced_eos_token_id eod_token_id", 3)
)
SIZES: dict[str, int] = {
    **_named(
        "hidden_size d_model n_embd dim emb_dim embedding_dim word_embed_proj_dim "
        "true_hidden_size attention_hidden_size lru_width backbone_hidden_size moe_hidden_size "
        "pooler_hidden_size output_embedding_size input_embedding_size prediction_head_size "
        "projection_dim",
        32,
    ),
    **_named("embedding_size entity_emb_size intra_bottleneck_size", 16),
    **_named(
        "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers "
        "num_decoder_layers num_encoder_layers num_blocks num_layers_per_stack",
        2,
    ),
    **_named(
        "num_attention_heads n_head n_heads num_heads encoder_attention_heads "
        "decoder_attention_heads attention_heads num_decoder_attention_heads "
        "num_encoder_attention_heads swa_num_attention_heads linear_num_heads index_n_heads "
        "num_query_groups linear_num_value_heads",
        4,
    ),
    **_named("num_key_value_heads num_kv_heads swa_num_key_value_heads linear_num_key_heads", 2),
    **_named(
        "head_dim d_kv d_head dim_head attention_head_dim attention_head_size v_head_dim "
        "qk_nope_head_dim qk_rope_head_dim swa_head_dim linear_head_dim linear_key_head_dim "
        "linear_value_head_dim index_head_dim rotary_dim kv_channels mamba_n_heads mamba_d_head "
        "mamba_num_heads mamba_head_dim mamba_headdim n_mamba_heads hidden_size_per_layer_input "
        "state_size mamba_d_state ssm_state_size sliding_window local_attention "
        "attention_window_size window_size sliding_window_size attention_chunk_size",
        8,
    ),
    **_named(
        "intermediate_size d_ff d_inner dff dim_ff hidden_dim ffn_dim ffn_hidden_size "
        "encoder_ffn_dim decoder_ffn_dim feed_forward_size dense_intermediate_size "
        "intermediate_size_mlp",
        48,
    ),
    **_named(
        "moe_intermediate_size shared_expert_intermediate_size expert_ffn_hidden_size qk_head_dim "
        "moe_shared_expert_intermediate_size shared_intermediate_size q_lora_rank kv_lora_rank "
        "o_lora_rank laurel_rank hc_lowrank adapter_rank gated_norm_rank chunk_size "
        "mamba_chunk_size mamba_dt_rank ple_embed_dim",
        16,
    ),
    **_named(
        "max_position_embeddings n_positions n_ctx max_seq_len context_length "
        "max_encoder_position_embeddings max_decoder_position_embeddings model_max_length "
        "original_max_position_embeddings",
        256,
    ),
    **_named(
        "num_experts n_routed_experts num_local_experts moe_num_experts time_step_rank index_kpool",
        4,
    ),
    **_named("num_experts_per_tok num_experts_per_token moe_topk moe_k", 2),
    **_named(
        "n_group topk_group num_expert_group n_shared_experts num_shared_experts "
        "moe_num_shared_experts first_k_dense_replace num_dense_layers n_groups mamba_n_groups "
        "mamba_ngroups zero_expert_num index_topk_blocks",
        1,
    ),
    "index_topk": 12,  # fewer than the tokens of a text
    "index_block_size": 8,
    "num_kv_shared_layers": 0,
    "mamba_d_ssm": 64,
    "ngram_vocab_size_base": 200,
}
GAIN = {"mobilebert": 0.25}
"""Without a LayerNorm, weights as large as the others' would saturate every row."""

OWN_KEYS: dict[str, Any] = {"num_key_value_heads": 4}
FOUR: dict[str, Any] = {"num_hidden_layers": 4}
ALTERNATING = {"layer_types": ["linear_attention", "full_attention"] * 2}
EXPERTS: dict[str, Any] = {
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
STACK: dict[str, Any] = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
}
GEMMA = STACK | {"sliding_window": 8, "query_pre_attn_scalar": 8}
GEMMA |= {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
BERT = {key: STACK[key] for key in STACK if key not in ("num_key_value_heads", "head_dim")}
BERT |= {"model_type": "bert"}


def _rope(**more: Any) -> dict[str, Any]:
    """Rotary positions in three parts, as of text beside pictures."""
    entry = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
    return {"rope_parameters": entry | more}


SETTINGS: dict[str, dict[str, Any]] = {
    **_families(
        "axk1 axk2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa kimi_linear longcat_flash "
        "minicpm3 mistral4 youtu mistral_large4_text esmc glm5_next_text",
        OWN_KEYS,
    ),
    **_families("deepseek_v2", OWN_KEYS, EXPERTS),
    **_families("dots1", EXPERTS),
    **_families("gemma2 gemma3_text vaultgemma", {"query_pre_attn_scalar": 8}),
    "big_bird": {"block_size": 4, "num_random_blocks": 1},
    "bigbird_pegasus": {"attention_type": "original_full"},
    **_families("hunyuan_v1_dense ministral", {"head_dim": 8}),
    **_families("cosmos3_edge_text glm4v_text glm_image_text qwen2_vl_text", _rope()),
    **_families("qwen2_5_vl_text", _rope()),
    **_families("glm4v_moe_text glm_ocr_text", _rope(partial_rotary_factor=1.0)),
    **_families("granitemoehybrid", FOUR, ALTERNATING),
    "bailing_hybrid": OWN_KEYS
    | FOUR
    | ALTERNATING
    | {"n_group": 1, "topk_group": 1, "num_local_experts": 4, "num_experts_per_tok": 2}
    | {"mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
    "bamba": FOUR | {"attn_layer_indices": [1, 3]},
    "blt": {key: STACK[key] for key in STACK if key not in ("head_dim", "num_key_value_heads")}
    | {"patch_size": 4, "cross_attn_k": 2, "use_cache": False}
    | {"encoder_hash_byte_group_vocab": 64, "encoder_hash_byte_group_size": [2, 3]}
    | {"patcher_config": STACK, "global_config": STACK | {"hidden_size": 64, "head_dim": 16}}
    | dict.fromkeys(
        ("encoder_config", "decoder_config"), STACK | {"cross_attn_k": 2, "hidden_size_global": 64}
    ),
    "cohere_compass_text": FOUR
    | {"layer_types": ["sliding_attention", "full_attention"] * 2}
    | {
        "rope_parameters": dict.fromkeys(
            ("full_attention", "sliding_attention"), _rope()["rope_parameters"]
        )
    },
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8},
        "ffn_config": {"ffn_hidden_size": 16, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "encoder-decoder": {
        "encoder": BERT,
        "decoder": BERT | {"is_decoder": True, "add_cross_attention": True},
    },
    "esm": {"vocab_size": len(VOCABULARY), "position_embedding_type": "rotary", "mask_token_id": 4},
    "funnel": {"architectures": ["FunnelModel"], "block_sizes": [1, 1], "num_decoder_layers": 1},
    "gpt_neo": {
        "num_layers": 2,
        "attention_types": [[["global", "local"], 1]],
        "attention_layers": ["global", "local"],
    },
    "hrm_text": FOUR | {"num_layers_per_stack": 1, "H_cycles": 2, "L_cycles": 1},
    "hunyuan_v1_moe": {"head_dim": 8, "moe_topk": 2, "num_experts": 4},
    "hunyuan_vl_text": _rope() | {"head_dim": 8},
    "inkling_text": {"swa_num_attention_heads": 8},
    "jamba": FOUR | {"attn_layer_period": 2, "attn_layer_offset": 1},
    "laguna": {
        "num_attention_heads": 4,
        "num_hidden_layers": 3,
        "num_attention_heads_per_layer": [4, 8, 4],
    },
    "led": {"attention_window": 8},
    "lfm2_moe": FOUR | {"layer_types": ["conv", "full_attention"] * 2},
    "lilt": {"hidden_size": 48, "num_attention_heads": 4},
    "longformer": {"attention_window": [8, 8]},
    "longt5": {"local_radius": 5},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1},
    "nemotron": {"num_key_value_heads": 2, "head_dim": 8},
    "qwen4_exp_text": FOUR
    | {"layer_types": ["linear_attention", "indexed_attention"] * 2, "hc_count": 2}
    | {"indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 8}
    | {"indexer_budget": 8, "indexer_compress_ratio": 4},
    "recurrent_gemma": {"num_hidden_layers": 3},
    "reformer": {
        "axial_pos_shape": [16, 16],
        "axial_pos_embds_dim": [16, 16],
        "attn_layers": ["local", "lsh"],
        "num_buckets": 2,
        "local_attn_chunk_length": 8,
        "lsh_attn_chunk_length": 8,
        "hash_seed": 0,
    },
    "squeezebert": {"embedding_size": 32},
    "t5gemma": {"encoder": GEMMA, "decoder": GEMMA, "vocab_size": len(VOCABULARY)},
    "xlstm": {"hidden_size": 64, "embedding_dim": 64, "qk_dim_factor": 1.0, "num_heads": 4},
    "xmod": {"default_language": "en_XX"},
    "zamba": FOUR
    | {"attention_hidden_size": 64, "attention_head_dim": 16}
    | {"num_key_value_heads": 4, "n_mamba_heads": 2}
    | {"layers_block_type": ["linear_attention", "hybrid"] * 2},
}
"""By family: entries that must agree with each other, or that make a feature show."""
