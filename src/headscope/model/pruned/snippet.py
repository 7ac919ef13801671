"""How a pruned folder is loaded without headscope: a few lines for its card."""

from __future__ import annotations

from transformers.pytorch_utils import Conv1D

from headscope.model.loading import Model
from headscope.model.pruned.shrink import kept_of

WHOLE = {
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForMaskedLM": "AutoModelForMaskedLM",
}
"""By how the name of a network's class ends: what transformers loads it with."""


def snippet(model: Model, folder: str) -> str:
    """Lines of Python that load a pruned model; they need transformers and safetensors.

    >>> from headscope.model.loading import load
    >>> from headscope.model.pruned.remove import remove
    >>> print(snippet(remove(load("minilm"), "L3.H4"), "smaller"))
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModel, AutoTokenizer
    config, tokenizer = (one.from_pretrained("smaller") for one in (AutoConfig, AutoTokenizer))
    model = AutoModel.from_config(config).eval()
    for name, weight in load_file("smaller/model.safetensors").items():
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, torch.nn.Parameter(weight))
    """
    name = type(model.whole).__name__
    kind = next((auto for end, auto in WHOLE.items() if name.endswith(end)), "AutoModel")
    lines = [
        "import torch",
        "from safetensors.torch import load_file",
        f"from transformers import AutoConfig, {kind}, AutoTokenizer",
        "config, tokenizer = "
        f'(one.from_pretrained("{folder}") for one in (AutoConfig, AutoTokenizer))',
        f"model = {kind}.from_config(config).eval()",
        f'for name, weight in load_file("{folder}/model.safetensors").items():',
        '    owner, _, leaf = name.rpartition(".")',
        "    setattr(model.get_submodule(owner), leaf, torch.nn.Parameter(weight))",
    ]
    if kind == "AutoModelForMaskedLM":
        lines.append("model.tie_weights()")
    return "\n".join(lines + _attention_lines(model))


def _attention_lines(model: Model) -> list[str]:
    """What the attention of this family has to be told of the heads that it has left."""
    adapter, kept = model.adapter, kept_of(model.network.config) or ()
    inner = adapter.output.removeprefix(f"{adapter.core}.")
    within = inner != adapter.output  # the output projection belongs to the core
    size = model.network.config.hidden_size // model.heads
    blocks, lines = adapter.blocks(model.network), []
    first = blocks[0]
    if adapter.width:
        lines.append(f"    core.{adapter.width} = {size} * len(kept)")
    core = first.get_submodule(adapter.core)
    turned = [name for name in adapter.into if isinstance(getattr(core, name, None), Conv1D)]
    lines += [f"    core.{name}.nf = core.{name}.weight.shape[1]" for name in turned]
    if adapter.count:
        lines.append(f"    core.{adapter.count} = len(kept)")
    if adapter.bias is not None:
        at = adapter.bias
        rows = f"(*a[:{at}], a[{at}][:, kept], *a[{at + 1}:])"
        lines.append(f"    core.register_forward_pre_hook(lambda _, a, kept=kept: {rows})")
    if not all(kept):
        given = "hidden[..., :0]"
        if within:
            empty = [block for block, some in zip(blocks, kept, strict=True) if not some]
            has_bias = all(block.get_submodule(adapter.output).bias is not None for block in empty)
            given = "torch.zeros_like(hidden)" + (f" + core.{inner}.bias" if has_bias else "")
        lines.append("    if not kept:")
        lines.append(f"        core.forward = lambda hidden, *_, core=core, **__: ({given}, None)")
    if not lines:
        return []
    place = next(name for name, one in model.whole.named_modules() if one is first)
    path = place.removesuffix("0") + "{layer}." + adapter.core
    return [
        "for layer, kept in enumerate(config.headscope_kept):",
        f'    core = model.get_submodule(f"{path}")',
        *lines,
    ]
