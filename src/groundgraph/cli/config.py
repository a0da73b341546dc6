"""`groundgraph config`: is this configuration right, and what may stand in one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, ConfigFile
from groundgraph.cli.output import DONE, EPILOG, WRONG_USE, counted, note, say, write_json

if TYPE_CHECKING:
    from groundgraph.cli.check_config import Checked

config_app = typer.Typer(
    name="config",
    help="Check a configuration, or print the schema of one.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)


@config_app.command(epilog=EPILOG)
def check(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The configuration. Default: as --config.", show_default=False)
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with a configuration. Everything has its line and column.

    Everything that it names is put together as for a turn, so unknown source types, bad filters and broken
    templates are found too; nothing is opened and no service is asked.
    """
    from groundgraph.cli.check_config import check_config
    from groundgraph.settings.load_settings import find_settings_file

    path = file or config or find_settings_file()
    if path is None:
        raise typer.BadParameter("there is no groundgraph.yaml here or above; name the file", param_hint="FILE")
    checked = check_config(path)
    if as_json:
        write_json(_document(checked, path))
    else:
        _show(checked, path)
    raise typer.Exit(WRONG_USE if checked.problems else DONE)


def _document(checked: Checked, path: Path) -> dict[str, Any]:
    errors = [{**vars(problem), "file": problem.file or str(path)} for problem in checked.problems]
    return {"ok": not errors, "errors": errors, "notices": checked.notices}


def _show(checked: Checked, path: Path) -> None:
    for problem in checked.problems:
        # What has no place of its own, such as a variable of the environment, still names the file.
        say(str(problem) if problem.file else f"{path}:1:1: {problem}")
    for notice in checked.notices:
        note(f"Notice: {notice}")
    if checked.problems:
        note(f"{counted(len(checked.problems), 'problem')} in {path}.")
    else:
        say(f"{path}: no problems.")


@config_app.command(epilog=EPILOG)
def schema(as_json: AsJson = True) -> None:  # noqa: ARG001 - it is JSON in any case
    """Print the JSON schema of a configuration. Editors complete keys and mark mistakes with it."""
    from groundgraph.cli.config_schema import settings_schema

    write_json(settings_schema())
    raise typer.Exit(DONE)
