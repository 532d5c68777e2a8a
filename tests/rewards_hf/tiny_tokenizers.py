"""Small tokenizers with the start tokens, markup and chat templates of real ones."""

from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

CORPUS = [
    "What is the answer to question 12? The capital of France is Paris, and it lies on the Seine.",
    "Step 1: We add 2 and 3. Step 2: We get 5. The answer is 42. + - Yes No yes no",
    "Human: Why is the sky blue? Assistant: Because air scatters blue light most. word word word",
    "Read a task and a response to it. Is the response right? Reply with one word, Yes or No.",
]
LLAMA3 = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n{{ message['content'] | trim }}<|eot_id|>"
    "{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}"
    "<start_of_turn>{{ 'model' if message['role'] == 'assistant' else message['role'] }}\n{{ message['content'] | trim }}<end_of_turn>\n{% endfor %}"
)
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
INTERNLM2 = "{{ bos_token }}" + CHATML


def byte_level(folder: Path, *, bos: str | None, eos: str, pad: str | None, special: list[str], template: str | None, words: tuple[str, ...] = ()) -> Any:
    """A byte-level BPE that puts its start token first, as Llama 3 has it."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    everything = [token for token in (bos, eos, pad, *special) if token is not None]
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=everything, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator([*CORPUS, *(f"{word} {word}" for word in words for _ in range(20))], trainer)
    if bos is not None:
        made.post_processor = processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, made.token_to_id(bos))])
    return _saved(made, folder, template, bos_token=bos, eos_token=eos, pad_token=pad, additional_special_tokens=special)


def sentence_piece(folder: Path, *, words: tuple[str, ...] = ()) -> Any:
    """A BPE that writes spaces as Llama 2 and Mistral do, without a chat template."""
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary = dict.fromkeys([*tokens, "\u2581", *sorted(set("".join(CORPUS)) - {" "})])
    merges = []
    for word in words:
        pieces = ["\u2581", *word]
        vocabulary |= dict.fromkeys(pieces)
        while len(pieces) > 1:
            # From the end, so that all of a word is one token only after a space.
            *rest, before, last = pieces
            merges.append((before, last))
            pieces = [*rest, before + last]
            vocabulary[pieces[-1]] = None
    made.model = models.BPE(
        {token: number for number, token in enumerate(vocabulary)}, list(dict.fromkeys(merges)), unk_token="<unk>", byte_fallback=True, fuse_unk=True
    )
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in ("<unk>", "<s>", "</s>")])
    made.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return _saved(made, folder, None, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def word_piece(folder: Path) -> Any:
    """The tokenizer of BERT: pairs of texts, and a segment for each."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return _saved(made, folder, None, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **names)


def _saved(made: Tokenizer, folder: Path, template: str | None, **settings: Any) -> Any:
    found = PreTrainedTokenizerFast(tokenizer_object=made, chat_template=template, **{name: value for name, value in settings.items() if value is not None})
    found.save_pretrained(folder)
    return found
