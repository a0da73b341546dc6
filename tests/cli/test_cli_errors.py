"""Errors: a message, its place, an exit code, and never a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from forks import run_command, without_rights

from groundgraph.cli.main import main
from groundgraph.cli.output import code_of, printable, report_error
from groundgraph.core.errors import (
    ConfigurationError,
    FilterInvalid,
    Problem,
    SchemaVersionUnsupported,
    ScopeMissing,
    SourceUnavailable,
    StorageLocked,
)
from groundgraph.core.secret_mask import know_secrets


@pytest.mark.covers("fault 9")
@pytest.mark.parametrize("command", [["ask", "x"], ["inspect", "x"], ["ingest", "."], ["sources"], ["doctor"]])
def test_an_unknown_key_is_shown_with_file_line_and_column(call, tmp_path, command):
    (tmp_path / "groundgraph.yaml").write_text("retrieval:\n  top_kk: 3\n")
    ran = call(*command)
    assert (ran.code, ran.out) == (2, "")
    assert "groundgraph.yaml:2:3: retrieval.top_kk: is not a known key. Did you mean 'top_k'?" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.covers("fault 9")
def test_with_json_the_problems_are_a_document(call, tmp_path):
    (tmp_path / "wrong.yaml").write_text("retrieval:\n  top_k: 0\nnope: 1\n")
    ran = call("ask", "x", "--json", "--config", "wrong.yaml")
    error = ran.json["error"]
    assert (ran.code, error["type"]) == (2, "ConfigurationError")
    assert [(p["key"], p["file"], p["line"], p["column"]) for p in error["problems"]] == [
        ("retrieval.top_k", "wrong.yaml", 2, 3),
        ("nope", "wrong.yaml", 3, 1),
    ]


@pytest.mark.covers("F5", "fault 91")
def test_a_secret_in_the_file_is_told_in_whole_words_and_without_it(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("llm:\n  model: m\n  api_key: sk-abcdef\n")
    for command in (["ask", "x"], ["config", "check"]):
        ran = call(*command)
        assert (ran.code, "sk-abcdef" in ran.out + ran.err) == (2, False)
        assert "groundgraph.yaml:3:3: llm.api_key: a secret must not stand in this file." in ran.out + ran.err
    ran = call("ask", "x", "--json")
    assert "llm.api_key: a secret must not stand" in ran.json["error"]["message"]


@pytest.mark.covers("F5", "fault 91")
def test_a_problem_that_repeats_a_secret_is_told_without_it_also_in_json(capsys, tmp_path):
    know_secrets({"api_key": "canary-5f7a91c2"})
    told = ["the driver refuses canary-5f7a91c2", "'hunter2' is no such", '"hunter2"; or another', "password=hunter2"]
    for as_json in (False, True):
        report_error(ConfigurationError([Problem("llm.api_key", one) for one in told]), as_json=as_json)
        out, err = capsys.readouterr()
        assert "canary" not in out + err
        assert "hunter2" not in out + err
        assert "llm.api_key: the driver refuses ***" in out + err


@pytest.mark.covers("fault 13")
@pytest.mark.parametrize("nested", [False, True])
def test_a_problem_found_by_the_graph_gets_its_place_in_the_file(call, tmp_path, nested):
    intent = "intent:\n  default_filters:\n    knowledge_base:\n      nope: 3\n"
    indented = "reasoning:\n" + "".join(f"  {line}\n" for line in intent.splitlines())
    (tmp_path / "groundgraph.yaml").write_text(indented if nested else intent)
    for command in ("ask", "inspect"):
        ran = call(command, "x")
        assert ran.code == 2
        place = "4:7" if nested else "3:5"
        assert f"groundgraph.yaml:{place}: intent.default_filters.knowledge_base: " in ran.err


def test_wrong_use_names_the_usage(call):
    ran = call("inspect")
    assert (ran.code, ran.out) == (2, "")
    assert "Usage: groundgraph inspect" in ran.err
    assert "QUERY" in ran.err


@pytest.mark.covers("B11")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ask"], "`groundgraph ask --help` tells what it takes."),
        (["inspect", ""], "QUERY: nothing is searched for; write words in quotes"),
        (["ask", "x", "--style", "fancy"], "'--style': 'fancy' is not one of 'conversational'"),
        (["aks"], "Did you mean 'ask'?"),
        (["open", "99"], "No such command 'open'. In `groundgraph chat` there is /open."),
        (["--config", "a.yaml", "ask", "x"], "Write it behind the command: groundgraph COMMAND --config"),
        (["ingest", "nothere"], "nothere: there is no such file or folder in HERE"),
        (["report", "nothing"], "There is no conversation 'nothing'"),
        (["threads", "show", "nope"], "There is no conversation 'nope'"),
        (["documents", "show", "nope"], "There is no document 'nope'"),
        (["check-model"], "set `llm: {provider: ..., model: ...}`"),
        (["evaluate", "nope"], "there is no folder 'nope'"),
        (["ask", "x", "--config", "nope.yaml"], "nope.yaml: there is no such file. It was looked for in HERE;"),
        (["config", "check"], "there is no groundgraph.yaml here or above; name the file"),
        (["graph", "nope"], "'nope' is not one of 'turn', 'retrieval', 'ingest'"),
    ],
)
def test_what_a_newcomer_types_wrongly_is_told_with_what_to_do(call, tmp_path, arguments, told):
    ran = call(*arguments)
    assert ran.code == (1 if arguments[0] in ("ingest", "threads", "documents") else 2)
    assert told.replace("HERE", str(tmp_path)) in ran.err + ran.out
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "arguments", [["inspect", "--json"], ["ask", "x", "--json", "--style", "no"], ["ingest", "--json"]]
)
def test_wrong_use_with_json_is_a_document(call, arguments):
    ran = call(*arguments)
    assert ran.code == 2
    assert ran.json["error"]["message"]
    assert ran.json["error"]["problems"] == []


def test_json_behind_two_dashes_is_no_option(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["inspect", "--nope", "--", "--json"])
    assert ended.value.code == 2
    assert capsys.readouterr().out == ""


def test_a_damaged_database_is_a_message(filled, tmp_path):
    (tmp_path / ".groundgraph" / "threads.sqlite").write_bytes(b"no database" * 100)
    ran = filled("ask", "What is a scope?")
    assert ran.code == 3
    assert ran.err.startswith("Error: The file ")
    assert "threads.sqlite of the checkpointer or the store is not a database" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError("x"), 2),
        (FilterInvalid("x"), 2),
        (SchemaVersionUnsupported("x"), 2),
        (ScopeMissing("x"), 2),
        (SourceUnavailable("x"), 3),
        (StorageLocked("x"), 3),
        (PermissionError(13, "x"), 3),
    ],
)
def test_exit_codes_of_errors(error, code):
    assert code_of(error) == code


def test_a_scope_that_the_command_line_cannot_give_is_wrong_use(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text(
        "sources:\n- {type: memory, name: cases, schema: {fields: {tenant: {type: string}}}, records: [{content: a}]}\n"
        "retrieval: {scope_filters: {cases: {tenant: context.tenant}}}\n"
    )
    ran = call("ask", "Who?")
    assert ran.code == 2
    assert "the command line passes none" in ran.err


def test_an_outage_of_postgresql_is_told_once_and_in_our_words(start, tmp_path):
    keeper = "{type: postgres, url: 'postgresql://reader@127.0.0.1:9/threads'}"
    (tmp_path / "groundgraph.yaml").write_text(
        "sources: [{type: memory, name: cases, records: [{content: a}]}]\n"
        f"checkpointer: {keeper}\nstore: {keeper}\n"
    )
    ran = start("ask", "Who?")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("Error: PostgreSQL, which keeps the threads or the evidence of this graph, does not")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("command", [["ask", "x"], ["ingest", "."]])
def test_a_first_command_in_a_folder_without_rights_says_what_to_do(tmp_path, command):
    tmp_path.chmod(0o555)
    try:
        ran = run_command(tmp_path, *command, before=without_rights)
    finally:
        tmp_path.chmod(0o755)
    assert ran.returncode == 3
    assert ran.stderr.startswith(f"Error: The folder {tmp_path / '.groundgraph'}, in which documents and conversations")
    assert "(Permission denied). Run the command in a folder that you may write to" in ran.stderr


def test_ctrl_c_ends_with_130_and_without_a_traceback(tmp_path):
    process = subprocess.Popen(
        # A shell that starts its jobs in the background lets them ignore the signal, and so would this child.
        [
            sys.executable,
            "-c",
            "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
            "os.execv(sys.executable, [sys.executable, '-m', 'groundgraph', 'demo'])",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert next(line for line in process.stdout if "Took in" in line)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 130
    *progress, last = err.splitlines()
    assert last == "Interrupted."
    # On a slow machine it has told meanwhile how far it is.
    assert all(line.startswith("Taking in ") for line in progress)


def test_ctrl_c_while_the_command_is_loaded_ends_the_same_way():
    entry = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["scripts"]["groundgraph"]
    pressed = """
import sys
from importlib import import_module

class Pressed:
    def find_spec(self, name, *_):
        if name == "groundgraph.cli.output":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
module, _, name = sys.argv[1].partition(":")
getattr(import_module(module), name)()
"""
    ran = subprocess.run([sys.executable, "-c", pressed, entry], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "Interrupted.\n")


def test_a_reader_that_leaves_is_no_error(filled, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "groundgraph", "inspect", "token", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=200), err) == (0, b"")


@pytest.mark.covers("fault 102")
def test_what_hides_or_reorders_text_is_shown_on_the_terminal():
    assert printable("a\u202eb\x1b[1m\tc\rd\r\n") == "a\ufffdb\ufffd[1m\tc\ufffdd\n"


def shell(tmp_path, redirection):
    command = f"{sys.executable} -m groundgraph {redirection}"
    return subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("line", ["ask hello >&-", "sources --json > /dev/full"])
def test_an_output_that_is_closed_or_full_ends_without_a_traceback(tmp_path, line):
    ran = shell(tmp_path, line)
    assert "Traceback" not in ran.stderr
    assert ran.returncode == (0 if ">&-" in line else 3), ran.stderr
    assert ("No space left on device" in ran.stderr) is ("full" in line)
