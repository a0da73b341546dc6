"""Models that run in this process through fastembed, from a folder of files or from the library's own download."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from typing_extensions import override

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.resilience.blocking import run_blocking
from groundgraph.text.words import sentences

# Where exports keep the model; the first that is there is taken.
_MODELS = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
_POOLING = "1_Pooling/config.json"
# fastembed takes 256 texts at once, for which long ones need gigabytes.
_AT_ONCE = 16
# Of two texts together, models of this kind read 512 tokens.
_PART_CHARS = 1000


def folder_problem(folder: Path) -> str:
    """What stands against reading a model from `folder`; empty for nothing. The model is not read for that."""
    if not folder.is_dir():
        return f"there is no folder '{folder}'"
    missing = [name for name in _TOKENIZER if not (folder / name).is_file()]
    if not _model_file(folder):
        missing.insert(0, "a model (" + " or ".join(_MODELS) + ")")
    return f"the folder '{folder}' lacks {', '.join(missing)}" if missing else ""


def _model_file(folder: Path) -> str:
    return next((name for name in _MODELS if (folder / name).is_file()), "")


@dataclass
class _OnFirstUse:
    """A model that is read when it is first used, by one thread."""

    read: Callable[[], Any]
    _model: Any = None
    _reading: Any = field(default_factory=threading.Lock)

    def __call__(self) -> Any:
        with self._reading:
            if self._model is None:
                self._model = self.read()
            return self._model


class LocalEmbeddings(Embeddings):
    """A fastembed model of texts, about ten long passages a second on two cores.

    Args:
        name: of the model; without a folder one that fastembed knows, which it downloads once.
        folder: where its files lie. Nothing is downloaded then.
        options: of fastembed, such as `threads` or `cache_dir`.
    """

    def __init__(self, name: str, folder: Path | None = None, options: Mapping[str, Any] | None = None) -> None:
        self.model = name
        self._ready = _OnFirstUse(lambda: _text_model(name, folder, dict(options or {})))

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        # Texts of one length together: each is padded to the longest of its batch.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        vectors = self._ready().passage_embed([texts[place] for place in order], batch_size=_AT_ONCE)
        by_place = {place: vector.tolist() for place, vector in zip(order, vectors, strict=True)}
        return [by_place[place] for place in range(len(texts))]

    @override
    def embed_query(self, text: str) -> list[float]:
        [vector] = self._ready().query_embed(text)
        return vector.tolist()  # type: ignore[no-any-return]


class LocalReranker:
    """A fastembed cross-encoder: how likely each passage answers, from 0 to 1, by the logistic function of its score.

    Args:
        name: as of `LocalEmbeddings`; so are `folder` and `options`.
        folder: see `name`.
        options: see `name`.
    """

    def __init__(self, name: str, folder: Path | None = None, options: Mapping[str, Any] | None = None) -> None:
        self.model = name
        self._ready = _OnFirstUse(lambda: _pair_model(name, folder, dict(options or {})))

    async def __call__(self, query: str, candidates: Sequence[SourceResult]) -> list[float]:
        """See `groundgraph.core.chain.Reranker`."""
        return await self.scores([(query, candidate.content) for candidate in candidates])

    async def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The score of each pair of texts."""
        return await run_blocking(self._scores, list(pairs)) if pairs else []

    def _scores(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [0.5 * (1 + math.tanh(float(score) / 2)) for score in self._ready().rerank_pairs(pairs)]


class LocalEntailment:
    """A cross-encoder that was trained to tell whether one text follows from another: how likely it does, 0 to 1.

    Of long evidence the part of about a thousand characters counts from which the sentence follows best.

    Args:
        folder: where its files lie; `config.json` names its labels, and one of them is `entailment`.
        options: of fastembed, such as `threads`.
    """

    def __init__(self, folder: Path, options: Mapping[str, Any] | None = None) -> None:
        self.model = str(folder)
        self._ready = _OnFirstUse(lambda: _labelled_model(folder, dict(options or {})))

    async def __call__(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[float]:  # noqa: ARG002
        """See `groundgraph.core.chain.SupportJudge`."""
        return await run_blocking(self._scores, list(pairs)) if pairs else []

    def _scores(self, pairs: list[tuple[str, str]]) -> list[float]:
        parts = [(place, (part, text)) for place, (evidence, text) in enumerate(pairs) for part in _parts(evidence)]
        found = self._ready().rerank_pairs([pair for _, pair in parts], batch_size=_AT_ONCE)
        best = [0.0] * len(pairs)
        for (place, _), score in zip(parts, found, strict=True):
            best[place] = max(best[place], float(score))
        return best


def _parts(text: str) -> Iterator[str]:
    """`text` in parts of about `_PART_CHARS`, cut between sentences; each begins with the last sentence of the one
    before."""
    begin = last = 0
    for start, end in sentences(text):
        if end - begin > _PART_CHARS and start > begin:
            yield text[begin:start]
            begin = last if last > begin else start
        last = start
    yield text[begin:]


def entailment_problem(folder: Path) -> str:
    """What stands against reading a model for `LocalEntailment` from `folder`; empty for nothing."""
    told = folder_problem(folder)
    if told or _entailment_label(folder) is not None:
        return told
    return f"no label in '{folder / 'config.json'}' is called 'entailment', so its model does not tell what follows"


def _entailment_label(folder: Path) -> int | None:
    """The place of the label among those of the model in `folder`."""
    try:
        named = json.loads((folder / "config.json").read_text("utf-8"))["id2label"]
        return next((int(place) for place, name in named.items() if str(name).casefold() == "entailment"), None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


@dataclass
class _OneLabel:
    """A session of ONNX that gives the probability of one label where it would give the scores of all."""

    session: Any
    label: int

    def get_inputs(self) -> Any:
        return self.session.get_inputs()

    def run(self, names: Any, inputs: Any) -> Any:
        import numpy as np

        scores = np.asarray(self.session.run(names, inputs)[0])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return [powers[:, [self.label]] / powers.sum(axis=1, keepdims=True)]


def _labelled_model(folder: Path, options: dict[str, Any]) -> Any:
    encoder = _pair_model(str(folder), folder, options)
    encoder.model.model = _OneLabel(encoder.model.model, _entailment_label(folder) or 0)
    return encoder


def _text_model(name: str, folder: Path | None, options: dict[str, Any]) -> Any:
    from fastembed import TextEmbedding

    if folder is None:
        return TextEmbedding(name, **options)
    known = [one["model"].lower() for one in TextEmbedding.list_supported_models()]
    told = folder / _POOLING
    if told.is_file():
        name = str(folder)
        if name.lower() not in known:
            _declare(name, folder, json.loads(told.read_text("utf-8")))
    elif name.lower() not in known:
        lacks = f"the folder '{folder}' lacks {_POOLING}, and fastembed knows no model '{name}'"
        raise ConfigurationError([Problem("embeddings.folder", lacks)])
    return TextEmbedding(name, specific_model_path=str(folder), **options)


def _declare(name: str, folder: Path, pooling: Mapping[str, Any]) -> None:
    """Tell fastembed of the model in `folder`: how its vectors are made of those of the tokens."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        name,
        pooling=PoolingType.CLS if pooling.get("pooling_mode_cls_token") else PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=name),
        dim=int(pooling["word_embedding_dimension"]),
        model_file=_model_file(folder),
    )


def _pair_model(name: str, folder: Path | None, options: dict[str, Any]) -> Any:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    if folder is None:
        return TextCrossEncoder(name, **options)
    if str(folder).lower() not in [one["model"].lower() for one in TextCrossEncoder.list_supported_models()]:
        source = ModelSource(hf=str(folder))
        TextCrossEncoder.add_custom_model(str(folder), sources=source, model_file=_model_file(folder))
    return TextCrossEncoder(str(folder), specific_model_path=str(folder), **options)
