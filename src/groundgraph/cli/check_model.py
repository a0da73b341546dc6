"""`groundgraph check-model`: how far the configured chat model can be trusted to answer from evidence."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, ConfigFile, find_settings
from groundgraph.cli.output import (
    DONE,
    DONE_WITH_FAILURES,
    check_folder_of,
    goes_to_output,
    note,
    say,
    write_json,
    write_out,
)
from groundgraph.cli.progress import shown_progress
from groundgraph.core.registry import nearest

if TYPE_CHECKING:
    from groundgraph.evals.model_check.figures import ModelCheck, Price
    from groundgraph.settings.settings import Settings

Page = Annotated[
    Path | None,
    typer.Option("-o", metavar="FILE", help="Write the figures as an HTML page to FILE; - is standard output."),
]
AtLeast = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[MARK=]SHARE",
        help="End with 1 when fewer of the cases are right, such as 0.9, or of those of one mark, such as "
        "declines=1; may repeat.",
    ),
]
PriceOf = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="IN/OUT", help="What a million tokens cost, sent and received, for the price of a turn."
    ),
]
Wrong = Annotated[bool, typer.Option("--wrong", help="Show each case that went wrong.")]


def check_model(
    output: Page = None,
    at_least: AtLeast = None,
    price: PriceOf = None,
    wrong: Wrong = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Tell how far the configured chat model can be trusted. It is asked what is known, and settings are advised.

    The questions are about a small made-up corpus that comes with the package, so nothing of yours is sent. Each goes
    through the graph that answers users; plain rules decide what is right. It takes about a hundred calls of the
    model, and more for answers that it is to mend.
    """
    shown = not goes_to_output(output, as_json=as_json)
    check_folder_of(output, "-o")
    wanted, known_price = _marks(at_least or []), _price(price)
    settings = find_settings(config)
    from groundgraph.evals.model_check.figures import advised_settings

    check = _checked(settings, known_price, quiet=as_json)
    found = {**check.to_dict(), "advice": advised_settings(check, settings.llm), "below": check.below(wanted)}
    if output:
        from groundgraph.report.turn_page import model_page

        write_out(output, model_page(found))
    if as_json:
        write_json(found)
    elif shown:
        _say(found, wrong=wrong)
    for name in found["below"]:
        note(f"Below the mark: {name or 'all cases'}.")
    raise typer.Exit(DONE_WITH_FAILURES if found["below"] else DONE)


def _checked(settings: Settings, price: Price | None, *, quiet: bool) -> ModelCheck:
    from groundgraph.evals.model_check.cases import load_cases
    from groundgraph.evals.model_check.figures import ModelCheck
    from groundgraph.evals.model_check.run_cases import checked_model, run_cases
    from groundgraph.models.call_model import model_name
    from groundgraph.models.replies import forms_of

    model = checked_model(settings)
    with shown_progress("Asking", of="cases", quiet=quiet) as on_progress:
        asked = asyncio.run(run_cases(settings, model, load_cases(), on_progress))
    return ModelCheck(model_name(model), asked, price, forms_of(model)[0])


def _marks(given: list[str]) -> dict[str, float]:
    """The wanted shares by mark, that of all cases under the empty name."""
    from groundgraph.evals.model_check.verdicts import TITLES

    found: dict[str, float] = {}
    for one in given:
        name, _, share = one.rpartition("=")
        if name and name not in TITLES:
            told = f"there is no mark '{name}'.{nearest(name, list(TITLES))} Known: {', '.join(TITLES)}"
            raise typer.BadParameter(told, param_hint="--at-least")
        found[name] = _number(share, "--at-least", most=1.0)
    return found


def _price(given: str | None) -> Price | None:
    from groundgraph.evals.model_check.figures import Price

    if given is None:
        return None
    sent, _, received = given.partition("/")
    return Price(_number(sent, "--price"), _number(received, "--price"))


def _number(text: str, option: str, most: float = float("inf")) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        told = f"'{text}' is no share from 0 to 1" if most == 1 else f"'{text}' is no price; write it like 0.25/2"
        raise typer.BadParameter(told, param_hint=option)
    return value


def _say(found: dict[str, Any], *, wrong: bool) -> None:
    from groundgraph.evals.model_check.figures import check_lines

    for one in found["wrong"] if wrong else ():
        say(f"{one['case']}: {one['ask']}")
        for mark, faults in one["faults"].items():
            say(f"    {mark}: {'; '.join(faults)}")
        say(f"    > {' '.join(one['reply'].split())}")
    say("\n".join(check_lines(found)))
    say(f"\nAdvised settings:\n\n{found['advice']}")
