"""Whether stored vectors are those of the texts that they stand beside."""

from __future__ import annotations

from groundgraph.core.embedder import Embedder
from groundgraph.evals.dataset import Dataset
from groundgraph.text.words import query_stems, stems


def strangers(dataset: Dataset, embedder: Embedder) -> frozenset[str]:
    """The queries whose nearest passage shares no stem of a content word with them.

    There are always some; when it is most of them, the vectors are probably those of other texts.
    """
    import numpy as np

    passages = [passage.text for corpus in dataset.corpora for passage in corpus.passages]
    rows = np.asarray(embedder.model.embed_documents(passages), dtype=np.float32)
    found: set[str] = set()
    for query in dataset.queries:
        nearest = int((rows @ np.asarray(embedder.model.embed_query(query.question), dtype=np.float32)).argmax())
        if not set(query_stems(query.question)) & set(stems(passages[nearest])):
            found.add(query.id)
    return frozenset(found)
