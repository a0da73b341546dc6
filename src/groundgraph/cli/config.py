"""`groundgraph config`: is this configuration right, and what may stand in one."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, ConfigFile
from groundgraph.cli.output import DONE, EPILOG, WRONG_USE, counted, masked_problem, note, say, write_json

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
    templates are found too; nothing is searched. Of a SQL database the columns are read, where it answers.
    """
    from groundgraph.cli.check_config import check_config
    from groundgraph.settings.load_settings import find_settings_file

    if file and config:
        raise typer.BadParameter("is named twice, as FILE and by --config; name one", param_hint="FILE")
    path = file or config or find_settings_file()
    if path is None:
        raise typer.BadParameter("there is no groundgraph.yaml here or above; name the file", param_hint="FILE")
    checked = check_config(path)
    checked.problems = [masked_problem(problem) for problem in checked.problems]
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
        if checked.unasked:
            note("No source was searched: `groundgraph doctor` asks each of them.")


@config_app.command(epilog=EPILOG)
def schema(as_json: AsJson = True) -> None:  # noqa: ARG001 - it is JSON in any case
    """Print the JSON schema of a configuration. Editors complete keys and mark mistakes with it."""
    write_json(settings_schema())
    raise typer.Exit(DONE)


# The schema: editors complete keys and mark mistakes with it while one types.

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> dict[str, Any]:
    """The schema of everything that `load_settings` reads."""
    from groundgraph.settings.settings import INTERNAL, Settings

    schema = Settings.model_json_schema()
    properties = schema["properties"]
    for name in INTERNAL:
        properties.pop(name, None)
    _add_source_types(schema["$defs"])
    properties["bindings"] = {"$ref": "#/properties/chains", "description": "another name of `chains`"}
    strategy = {"const": "grounded", "description": "the only one that there is"}
    below = {name: {"$ref": f"#/properties/{name}"} for name in properties}
    properties["reasoning"] = {
        "type": ["object", "null"],
        "description": "the same sections, one level down",
        "properties": {"strategy": strategy, **below},
        "additionalProperties": False,
    }
    properties["strategy"] = strategy
    return {"$schema": _DIALECT, **schema, "title": "groundgraph", "description": "The configuration of groundgraph."}


def source_options() -> dict[str, dict[str, Any]]:
    """The schema of each key that a type of source has beside those of every entry, by type and key."""
    import yaml

    from groundgraph.settings.search import RetrieverSettings

    told = yaml.safe_load(files("groundgraph.sources").joinpath("options.yaml").read_text("utf-8"))
    told["cascade"] |= {
        name: {"$ref": f"#/$defs/RetrieverSettings/properties/{name}"} for name in RetrieverSettings.model_fields
    }
    return {name: told[keys] if isinstance(keys, str) else keys for name, keys in told.items()}


def _add_source_types(definitions: dict[str, Any]) -> None:
    """What may stand in an entry of a known type; a package's own type may have any keys."""
    from groundgraph.settings.search import SourceEntry

    entry = definitions[SourceEntry.__name__]
    every = dict.fromkeys(entry["properties"], True)
    types = source_options()
    entry["properties"]["type"] |= {"anyOf": [{"enum": list(types)}, {"type": "string"}]}
    entry["properties"]["type"].pop("type")
    entry["allOf"] = [
        {
            "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
            "then": {"properties": {**every, **options}, "additionalProperties": False},
        }
        for name, options in types.items()
    ]
