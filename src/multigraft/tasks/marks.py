"""Marks of the beginning of a text, which tokenizers and chat templates add by themselves."""

from multigraft.types import Prompt

MARKS = (
    "<s>",
    "<bos>",
    "<|begin_of_text|>",
    "<|startoftext|>",
    "<|im_start|>",
    "<|start_header_id|>",
    "<start_of_turn>",
    "[INST]",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
)
"""Of Llama, Mistral, Gemma, Qwen and DeepSeek models."""


def begins_with_a_mark(prompt: Prompt) -> bool:
    """Tell whether a prompt was written for a raw completion: its first message begins with one of `MARKS`."""
    return prompt.messages[0].content.lstrip().startswith(MARKS)
