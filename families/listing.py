"""The families of transformers that read text."""

from __future__ import annotations

from typing import Any

from transformers import MODEL_MAPPING
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

TASKS = (
    "CAUSAL_LM",
    "MASKED_LM",
    "SEQ_TO_SEQ_CAUSAL_LM",
    "TEXT_ENCODING",
    "SEQUENCE_CLASSIFICATION",
    "TOKEN_CLASSIFICATION",
    "QUESTION_ANSWERING",
    "MULTIPLE_CHOICE",
    "NEXT_SENTENCE_PREDICTION",
)
CLASSES: dict[str, dict[str, Any]] = {
    task: getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES") for task in TASKS
}
"""By task and family: the names of classes."""
OTHER_MODALITIES = ("vision", "audio", "image", "video", "speech", "acoustic", "vq_config")
NOT_TEXT = frozenset(
    (
        *("bark", "clvp", "csm", "decision_transformer", "dia", "evolla", "fastspeech2_conformer"),
        *("fastspeech2_conformer_with_hifigan", "gemma4_assistant", "gemma4_unified_assistant"),
        *("higgs_audio_v2", "imagegpt", "kyutai_speech_to_text", "moshi", "muse_glimmer_assistant"),
        *("musicgen", "musicgen_melody", "pe_audio", "pe_audio_video", "pe_video", "speecht5"),
        "vits",
    )
)
"""Families with ids and a vocabulary that read sound, pictures, proteins, or only draft."""
BYTES = frozenset({"blt"})
"""Families that read text although their class names other inputs."""


def base_class(family: str) -> Any:
    """The class of a family's network without anything on top; None if there is none."""
    config = CONFIG_MAPPING[family]
    found: Any = MODEL_MAPPING.get(config, None)
    return found[0] if isinstance(found, tuple) else found


def text_families() -> list[str]:
    """The families that have a task on text."""
    tasked = {family for families in CLASSES.values() for family in families}
    return [family for family in sorted(tasked) if _reads_text(family)]


def _reads_text(family: str) -> bool:
    if family in BYTES:
        return True
    try:
        config, network = CONFIG_MAPPING[family], base_class(family)
        first_input = getattr(network, "main_input_name", "input_ids")
    except (ImportError, ValueError, KeyError):
        return False
    read: Any = getattr(network, "input_modalities", "text") if network else "text"
    only_text = {read} == {"text"} if isinstance(read, str) else set(read) == {"text"}
    parts = " ".join(getattr(config, "sub_configs", {}))
    return (
        family not in NOT_TEXT
        and first_input == "input_ids"
        and not any(word in parts for word in (*OTHER_MODALITIES, "semantic"))
        and (only_text or family.endswith("_text"))
    )


def is_decoder(family: str) -> bool:
    """Whether a family reads from left to right."""
    others = {**CLASSES["MASKED_LM"], **CLASSES["SEQ_TO_SEQ_CAUSAL_LM"]}
    return family in CLASSES["CAUSAL_LM"] and family not in others
