"""NgramEmbeddings: near texts near, others apart, the same in every process."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.testing import NgramEmbeddings

MODEL = NgramEmbeddings()


def cosine(left, right, model=MODEL):
    return sum(a * b for a, b in zip(model.embed_query(left), model.embed_query(right), strict=True))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("refund policy", "refund policies"),
        ("Refund POLICY!", "refund policy"),
        ("What is the refund policy?", "the refund policies"),
        ("политика возврата", "политики возврата"),
        ("ёлка", "елка"),
    ],
)
def test_near_texts_are_near(left, right):
    assert cosine(left, right) > 0.6


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("refund policy", "quantum gravity"),
        ("What is the refund policy?", "What is the speed of light?"),
        ("политика возврата", "скорость света"),
        ("authorization code grant", "recipe for tomato soup"),
        ("refund policy", ""),
    ],
)
def test_unrelated_texts_are_apart(left, right):
    assert cosine(left, right) < 0.3


@given(st.text(st.characters()), st.sampled_from([1, 8, 256]))
def test_every_text_has_a_unit_vector(text, dimensions):
    vector = NgramEmbeddings(dimensions).embed_query(text)
    assert len(vector) == dimensions
    assert math.isclose(math.hypot(*vector), 1.0)


def test_another_process_with_another_hash_seed_gives_the_same_vector():
    code = "from groundgraph.testing import NgramEmbeddings as N; print(N(16).embed_query('refund policy'))"
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert printed.stdout.strip() == str(NgramEmbeddings(16).embed_query("refund policy"))


async def test_all_four_methods_agree():
    texts = ["one", "two"]
    expected = [MODEL.embed_query(text) for text in texts]
    assert MODEL.embed_documents(texts) == expected == await MODEL.aembed_documents(texts)
    assert await MODEL.aembed_query("one") == expected[0]


def test_dimensions_below_one_are_refused():
    with pytest.raises(ValueError, match="1 or more"):
        NgramEmbeddings(0)
