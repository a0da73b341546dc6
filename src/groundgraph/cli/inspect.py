"""`groundgraph inspect`: what the sources find, before anything is dropped or written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, ConfigFile, find_settings
from groundgraph.cli.output import code_of_parts, note, say, shortened, write_json

if TYPE_CHECKING:
    from groundgraph.cli.matches import Matches

_MIN_SHOWN = 20


def inspect(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to search for.", show_default=False)],
    top_k: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1000,
            help="Matches per source. Default: 20, or twice retrieval.top_k when that is more.",
            show_default=False,
        ),
    ] = None,
    chains: Annotated[
        str | None,
        typer.Option(
            metavar="identity",
            help="Query chains to use in place of the configured ones: `identity` searches for the query verbatim.",
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show every match of a query. Those that an answer would not use are among them.

    `kept` says whether the filter, the configured score_threshold and top_k keep a match. Default filters hold here
    too.
    """
    if chains not in (None, "identity"):
        raise typer.BadParameter("the only chains that can be asked for are 'identity'", param_hint="--chains")
    if not query.strip():
        raise typer.BadParameter("nothing is searched for; write words in quotes", param_hint="QUERY")
    settings = find_settings(config)
    from groundgraph.cli.matches import find_matches

    shown = top_k or max(_MIN_SHOWN, 2 * settings.retrieval.top_k)
    matches = asyncio.run(find_matches(settings, query, shown, identity=chains == "identity"))
    _show(matches, as_json=as_json)
    raise typer.Exit(code_of_parts(len(matches.failed), matches.answered))


def _show(matches: Matches, *, as_json: bool) -> None:
    if as_json:
        write_json({"results": matches.results, "failed": matches.failed})
    elif not matches.results:
        if matches.answered:
            say("Nothing matches.")
    else:
        say(f"{sum(row['kept'] for row in matches.results)} of {len(matches.results)} matches would be used:")
        for row in matches.results:
            say(_as_text(row))
    for failure in matches.failed:
        note(f"Failed: {failure['source']}: {failure['reason']}")


def _as_text(row: dict[str, Any]) -> str:
    mark = "+" if row["kept"] else "-"
    place = " > ".join(part for part in (row["document"], row["section"]) if part) or row["source_id"]
    return (
        f"\n{row['rank']:>3} {mark} {row['source_name']}: {place}\n"
        f"      relevance {row['relevance']:.2f}, match score {row['match_score']:.2f}{_rerank(row)}\n"
        f"      {shortened(row['content'], 200)}"
    )


def _rerank(row: dict[str, Any]) -> str:
    return "" if row["rerank_score"] is None else f", rerank score {row['rerank_score']:.2f}"
