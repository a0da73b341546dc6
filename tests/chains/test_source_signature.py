"""Someone's own chain is known by its code (K1, K3)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda

from groundgraph.ingest.register_chain import source_signature

pytestmark = pytest.mark.covers("K1")


def one(query):
    return query


def other(query):
    return query + " "


def test_other_code_has_another_signature():
    assert source_signature(one) == source_signature(one)
    assert source_signature(one) != source_signature(other)
    assert source_signature(RunnableLambda(one)) != source_signature(RunnableLambda(other))
    ask, tell = (PromptTemplate.from_template(text) | StrOutputParser() for text in ("Ask {query}", "Tell {query}"))
    assert source_signature(ask) != source_signature(tell)


def test_an_object_is_known_by_its_class_and_its_fields():
    from groundgraph.ingest.builtin_chains import CutoffFilter

    assert source_signature(CutoffFilter(0.1)) == source_signature(CutoffFilter(0.1))
    assert source_signature(CutoffFilter(0.1)) != source_signature(CutoffFilter(0.2))


def test_code_that_was_never_in_a_file_is_told_apart():
    made: dict = {}
    exec("def f(x):\n    return x + 1\ndef g(x):\n    return x + 2", made)
    assert source_signature(made["f"]) != source_signature(made["g"])
    assert source_signature(len) != source_signature(sorted)


def test_every_process_gives_the_same_signature(capsys):
    code = (
        "from groundgraph.ingest.register_chain import source_signature as s\n"
        "from langchain_core.prompts import PromptTemplate\n"
        "from langchain_core.runnables import RunnableLambda\n"
        "class Own:\n    def __call__(self, x): return x\n"
        "print(s(lambda x: x), s(Own()), s(PromptTemplate.from_template('{x}') | RunnableLambda(len)))"
    )
    exec(code, {"__name__": "__main__"})
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout == capsys.readouterr().out != ""
