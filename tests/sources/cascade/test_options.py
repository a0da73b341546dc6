"""`type: cascade` in a configuration (R11): every option works or is refused."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import groundgraph.text.lemmatizer as lemmatizer_module
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, KnowledgeFileInvalid
from groundgraph.core.intent import RetrievalIntent
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.search import RetrieverSettings
from groundgraph.sources.cascade import CascadeSource
from groundgraph.sources.cascade.read_file import FILE_KEYS, SECTION_KEYS, read_file
from groundgraph.sources.cascade.source import cascade_from_options
from groundgraph.sources.contract import SourceOptions, source_types
from groundgraph.testing import NgramEmbeddings


def build(folder: Path, embedder: Embedder | None = None, **options: Any) -> CascadeSource:
    return cascade_from_options(SourceOptions("shop", {"path": "knowledge", **options}, folder, "sources[0]", embedder))


def problems(folder: Path, **options: Any) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationError) as caught:
        build(folder, **options)
    return [(problem.key, problem.message) for problem in caught.value.problems]


@pytest.mark.covers("R11")
def test_the_type_is_registered():
    assert source_types.get("cascade") is cascade_from_options


@pytest.mark.covers("R11")
async def test_paths_start_at_the_folder_of_the_configuration(tmp_path, shop):
    found = await build(tmp_path).query(RetrievalIntent(["rates"]))
    assert [result.source_name for result in found] == ["shop"]
    several = build(tmp_path, path=["knowledge/faq.yaml", str(shop / "pricing.yaml")])
    assert await several.counts() == {"documents": 2, "chunks": 5}


@pytest.mark.covers("R11")
def test_what_cannot_be_read_is_told_when_a_source_is_built(tmp_path, shop):
    [(key, message)] = problems(tmp_path, path="nowhere")
    assert key == "sources[0].path"
    assert "There is no file or folder" in message
    (shop / "faq.yaml").write_text("sections:\n  a: {fact: [x]}\n")
    with pytest.raises(KnowledgeFileInvalid) as caught:
        build(tmp_path)
    assert f"{shop / 'faq.yaml'}:2:7: sections.a.fact: is not a known key. Did you mean 'facts'?" in str(caught.value)


@pytest.mark.covers("C1")
async def test_embeddings_are_used_when_they_are_switched_on(tmp_path, shop):
    embedder = Embedder(NgramEmbeddings(), "ngrams")
    off = build(tmp_path, embedder)
    on = build(tmp_path, embedder, use_embeddings=True, vectors="own.sqlite")
    assert [(await one.run("rates"))[1].stages[2].ran for one in (off, on)] == [False, True]
    assert (tmp_path / "own.sqlite").exists()


@pytest.mark.covers("fault 9")
@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ({"stagse": []}, "stagse", "Did you mean 'stages'?"),
        ({"path": None}, "path", "is missing"),
        ({"path": []}, "path", "is missing"),
        ({"path": 3}, "path", "is missing"),
        ({"vectors": 3}, "vectors", "must be the path of a file"),
        ({"use_embeddings": True}, "use_embeddings", "needs an embedding model"),
        ({"stages": []}, "stages", "at least 1"),
        ({"stages": ["exact", "exact"]}, "stages", "stands there twice"),
        ({"stages": ["lema"]}, "stages.0", "'exact', 'lemma' or 'semantic'"),
        ({"stages": ["semantic"]}, "", "needs `use_embeddings: true`"),
        ({"thresholds": {"exat": 1}}, "thresholds.exat", "not permitted"),
        ({"thresholds": {"lemma": 1.5}}, "thresholds.lemma", "less than or equal to 1"),
        ({"thresholds": {"exact": -1}}, "thresholds.exact", "greater than or equal to 0"),
        ({"default_top_k": 0}, "default_top_k", "greater than 0"),
        ({"ordering": "best"}, "ordering", "'fused' or 'stage'"),
        ({"vector_weight": 2}, "vector_weight", "less than or equal to 1"),
        ({"lemmatizer": "snow"}, "lemmatizer", "'snowball' or 'dictionary'"),
        ({"lemmatizer": "dictionary", "languages": ["en", "xx"]}, "languages", "no dictionary of 'xx'"),
        ({"embedder_model": {"provider": "openai"}}, "embedder_model", "must name a `model`"),
    ],
)
def test_an_option_that_cannot_work_is_refused_by_its_key(tmp_path, options, key, told):
    [(found, message)] = problems(tmp_path, **options)
    assert found == f"sources[0].{key}".rstrip(".")
    assert told in message


@pytest.mark.covers("fault 9")
def test_all_problems_are_told_at_once(tmp_path):
    found = problems(tmp_path, nonsense=1, ordering="best")
    assert [key for key, _ in found] == ["sources[0].nonsense", "sources[0].ordering"]


@pytest.mark.covers("C1")
def test_a_dictionary_that_is_not_installed_is_refused_with_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(lemmatizer_module, "find_spec", lambda name: None if name == "pymorphy3" else SimpleNamespace())
    [(key, message)] = problems(tmp_path, lemmatizer="dictionary")
    assert key == "sources[0].lemmatizer"
    assert "'dictionary' needs pymorphy3" in message
    assert 'pip install "groundgraph[lemma]"' in message


PAGE = Path(__file__).parents[3] / "docs" / "cascade.md"


def test_the_examples_of_the_documentation_work(tmp_path):
    file, section = re.findall(r"```ya?ml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "pricing.yaml").write_text(file, "utf-8")
    read, problems = read_file(tmp_path / "pricing.yaml")
    assert problems == []
    assert read is not None
    assert set(FILE_KEYS) <= set(yaml.safe_load(file))
    assert set(SECTION_KEYS) == set(yaml.safe_load(file)["sections"]["monthly_rate"])
    assert load_settings(yaml.safe_load(section)).retriever == RetrieverSettings()


def test_the_documentation_names_every_option():
    page = PAGE.read_text("utf-8")
    options = ["path", "vectors", "description", *RetrieverSettings.model_fields]
    assert [option for option in options if f"`{option}`" not in page] == []
