"""Answers from a source of one's own: `python run.py 13 "Who is on call for the pumps?"`."""

import csv
import sys
from pathlib import Path

from groundgraph import GroundedSource, RetrievalIntent, SourceResult, SourceSchema, load_settings, turn_graph
from groundgraph.core.filters import matches
from groundgraph.text.words import query_stems, stems

HERE = Path(__file__).parent


class Rota(GroundedSource):
    name, source_type = "rota", "rota"  # who is on call, from a CSV file that somebody else keeps up to date

    def get_schema(self) -> SourceSchema:
        return SourceSchema("rota", {"week": {"type": "integer"}, "team": {"enum": ["pumps", "presses"]}})

    def query(self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0) -> list[SourceResult]:
        read = csv.DictReader((HERE / "rota.csv").read_text("utf-8").splitlines())
        rows: list[dict[str, object]] = [{**row, "week": int(row["week"])} for row in read]
        wanted = [row for row in rows if matches(intent.filters.get("rota", {}), row)]
        best: dict[str, SourceResult] = {}
        for asked in (set(query_stems(text)) for text in intent.text_queries):
            found = sorted((as_result(row, asked) for row in wanted), key=lambda result: -result.relevance)
            best |= {one.source_id: one for one in found[:top_k] if one.relevance >= score_threshold}
        return sorted(best.values(), key=lambda result: -result.relevance)


def as_result(row: dict[str, object], asked: set[str]) -> SourceResult:
    text = "In week {week} {on_call} is on call for the {team}, phone {phone}.".format(**row)
    share = len(asked & set(stems(text))) / max(1, len(asked))
    return SourceResult(text, f"{row['week']}-{row['team']}", "rota", "rota", share, row)


if __name__ == "__main__":
    graph = turn_graph(load_settings(HERE / "groundgraph.yaml"), sources=[Rota()])
    print(graph.invoke({"question": " ".join(sys.argv[2:]), "metadata": {"week": int(sys.argv[1])}})["answer"])
