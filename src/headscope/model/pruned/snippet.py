"""The lines of Python in a model card that load a pruned model without headscope."""

from __future__ import annotations

from torch import nn
from transformers.pytorch_utils import Conv1D

from headscope.model.adapters import Adapter
from headscope.model.model import Model
from headscope.model.pruned.modelling_file import auto_class, loading_lines
from headscope.model.pruned.shrink import SHAPES_KEY, RemainingHeads, remaining_heads


def loading_snippet(model: Model, folder: str) -> str:
    """Lines of Python that load a pruned model; they need transformers and safetensors.

    >>> from headscope.model import load, remove
    >>> print(loading_snippet(remove(load("minilm"), "L3.H4"), "smaller"))
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModel, AutoTokenizer
    config = AutoConfig.from_pretrained("smaller")
    tokenizer = AutoTokenizer.from_pretrained("smaller")
    model = AutoModel.from_config(config).eval()
    for name, weight in load_file("smaller/model.safetensors").items():
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, torch.nn.Parameter(weight))
    """
    if hasattr(model.network.config, SHAPES_KEY):
        return loading_lines(model, folder)
    auto = auto_class(type(model.whole).__name__)
    lines = [
        "import torch",
        "from safetensors.torch import load_file",
        f"from transformers import AutoConfig, {auto}, AutoTokenizer",
        f'config = AutoConfig.from_pretrained("{folder}")',
        f'tokenizer = AutoTokenizer.from_pretrained("{folder}")',
        f"model = {auto}.from_config(config).eval()",
        f'for name, weight in load_file("{folder}/model.safetensors").items():',
        '    owner, _, leaf = name.rpartition(".")',
        "    setattr(model.get_submodule(owner), leaf, torch.nn.Parameter(weight))",
    ]
    if auto == "AutoModelForMaskedLM":
        lines.append("model.tie_weights()")
    return "\n".join(lines + _attention_lines(model))


def _attention_lines(model: Model) -> list[str]:
    """Lines that adapt the attention modules of this family to the heads that remain."""
    adapter, network = model.adapter, model.network
    blocks = adapter.blocks(network)
    attention = blocks[0].get_submodule(adapter.attention_module)
    size = network.config.hidden_size // model.heads
    lines = _attribute_lines(adapter, attention, size)
    remaining = remaining_heads(network.config) or ()
    if not all(remaining):
        lines += _empty_layer_lines(adapter, blocks, remaining)
    if not lines:
        return []
    first = next(name for name, module in model.whole.named_modules() if module is blocks[0])
    path = first.removesuffix("0") + "{layer}." + adapter.attention_module
    return [
        "for layer, kept in enumerate(config.headscope_kept):",
        f'    attention = model.get_submodule(f"{path}")',
        *lines,
    ]


def _attribute_lines(adapter: Adapter, attention: nn.Module, size: int) -> list[str]:
    """Lines that set the attributes of an attention module which hold its number of heads."""
    lines = []
    if adapter.all_head_size_attr:
        lines.append(f"    attention.{adapter.all_head_size_attr} = {size} * len(kept)")
    lines += [
        f"    attention.{name}.nf = attention.{name}.weight.shape[1]"
        for name in adapter.qkv_modules
        if isinstance(getattr(attention, name, None), Conv1D)
    ]
    if adapter.num_heads_attr:
        lines.append(f"    attention.{adapter.num_heads_attr} = len(kept)")
    if adapter.head_bias_argument is not None:
        at = adapter.head_bias_argument
        selected = f"(*a[:{at}], a[{at}][:, kept], *a[{at + 1}:])"
        lines.append(f"    attention.register_forward_pre_hook(lambda _, a, kept=kept: {selected})")
    return lines


def _empty_layer_lines(
    adapter: Adapter, blocks: list[nn.Module], remaining: RemainingHeads
) -> list[str]:
    """Lines that make a layer without heads skip its attention."""
    path = adapter.output_projection.removeprefix(f"{adapter.attention_module}.")
    output = "hidden[..., :0]"
    if path != adapter.output_projection:  # the projection is inside the attention module
        empty = [block for block, kept in zip(blocks, remaining, strict=True) if not kept]
        projections = [block.get_submodule(adapter.output_projection) for block in empty]
        has_bias = all(projection.bias is not None for projection in projections)
        output = "torch.zeros_like(hidden)" + (f" + attention.{path}.bias" if has_bias else "")
    arguments = "hidden, *_, attention=attention, **__"
    return [
        "    if not kept:",
        f"        attention.forward = lambda {arguments}: ({output}, None)",
    ]
