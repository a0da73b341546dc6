"""A newcomer's way through the documentation, from a clean clone: `python scripts/newcomers_path.py [REPOSITORY]`.

Clones the repository into a temporary folder and does there what it says: install and first answer, own
documents, Python, own table, own model, server, Studio, a larger agent. Needs git, make and Python, neither a key nor a
network beyond the package registry. With `--uv` uv installs the page and not pip, in a fifth of the time. Ends at the
first step that fails, and with what that step printed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Answers as any OpenAI-compatible server would; run by the Python of the clone.
OWN_MODEL = """
import os, subprocess
from groundgraph.testing import openai_stub

with openai_stub("Pump 17 is serviced every 90 days [1].") as stub:
    os.environ |= {"OPENAI_API_KEY": "not-a-key", "GROUNDGRAPH_LLM__BASE_URL": stub.base_url}
    told = ["--config", "own_model.yaml", "--style", "conversational"]
    subprocess.run(["groundgraph", "ask", "How often is pump 17 serviced?", *told], check=True)
"""
_BLOCK = re.compile(r"^```(bash|python|yaml)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def main(repository: Path, *, by_uv: bool) -> None:
    """All steps, one after another."""
    with TemporaryDirectory(prefix="newcomer-") as folder:
        clone, work = Path(folder) / "groundgraph", Path(folder) / "work"
        work.mkdir()
        step("git clone", ["git", "clone", "-q", str(repository), str(clone)], Path(folder))
        step("install and first answer", ["make", "demo"], clone, told="[1]")
        readme, sources = (sections((clone / page).read_text("utf-8")) for page in ("README.md", "docs/sources.md"))
        for name in ("Ask your own documents", "From Python"):
            run_blocks(name, readme[name], clone, work)
        run_blocks("Your tables", sources["Your tables"], clone, work)
        own_model(readme["Your own model"], clone, work)
        served(clone, work)
        page_installed(clone, Path(folder) / "fresh", by_uv=by_uv)
        agent = ["python", "run.py", "When is pump 17 serviced?"]
        step("a larger agent", agent, clone / "examples" / "subgraph", clone, told="90 days")


def sections(page: str) -> dict[str, str]:
    """The text of a page below each heading of the second level."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def run_blocks(name: str, text: str, clone: Path, work: Path) -> None:
    """The commands and the Python code of one section."""
    for number, (kind, block) in enumerate(_BLOCK.findall(text), 1):
        if kind == "bash":
            step(f"{name}, block {number}", ["bash", "-euo", "pipefail", "-c", block], work, clone)
        elif kind == "python":
            step(f"{name}, block {number}", ["python", "-c", block], work, clone)


def own_model(text: str, clone: Path, work: Path) -> None:
    """The configuration of the section, with a local server in the place of the provider's."""
    block = next(block for kind, block in _BLOCK.findall(text) if kind == "yaml")
    lines = [line for line in block.splitlines() if not line.startswith("embeddings:")]
    (work / "own_model.yaml").write_text("\n".join(lines))
    step("Your own model", ["python", "-c", OWN_MODEL], work, clone, told="every 90 days [1]")


def served(clone: Path, work: Path) -> None:
    """A turn on the server over the documents of before, and what Studio reads from it."""
    with server(clone, work) as url:
        turn = {"assistant_id": "turn", "input": {"question": "How often is pump 17 serviced?"}}
        answer = ask(f"{url}/runs/wait", turn)["answer"]
        expect("Serve it", "Pump 17 is serviced every 90 days." in answer, answer)
        known = ask(f"{url}/assistants/search", {})
        expect("Serve it, graphs", {"turn", "retrieval", "ingest"} <= {one["graph_id"] for one in known}, str(known))
        identity = next(one["assistant_id"] for one in known if one["graph_id"] == "turn")
        steps = {node["id"] for node in ask(f"{url}/assistants/{identity}/graph")["nodes"]}
        expect("Studio, steps", {"resolve_intent", "retrieve_source", "check_citations"} <= steps, str(steps))
        schemas = ask(f"{url}/assistants/{identity}/schemas")
        expect("Studio, fields", "top_k" in json.dumps(schemas["context_schema"]), str(schemas["context_schema"]))


def page_installed(clone: Path, folder: Path, *, by_uv: bool) -> None:
    """In an environment of its own: from the install to the first answer on the page over the demo's documents."""
    folder.mkdir()
    started, binaries = time.monotonic(), folder / "environment" / "bin"
    pip = [[sys.executable, "-m", "venv", str(binaries.parent)], [str(binaries / "pip"), "install", "-q"]]
    uv = shutil.which("uv") or str(clone / ".venv-uv" / "bin" / "uv")
    made = [
        [uv, "venv", "-q", str(binaries.parent)],
        [uv, "pip", "install", "-q", "--python", str(binaries / "python")],
    ]
    environment, install = made if by_uv else pip
    for command in (
        environment,
        [*install, f"{clone}[page]"],
        [str(binaries / "groundgraph"), "demo", "--to", "demo"],
    ):
        # What nobody imports need not be compiled.
        subprocess.run(command, cwd=folder, env={**variables(None), "PIP_NO_COMPILE": "1"}, check=True)
    command = [str(binaries / "groundgraph"), "serve", "demo", "--no-open", "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=folder, env=variables(None), stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        installed = time.monotonic() - started
        url = json.loads(b"".join(iter(process.stdout.readline, b"}\n")) + b"}")["url"]
        question = "Is it safe to show user input on a web page?"
        thread = ask(f"{url}api/threads", {"title": question})["id"]
        turn = ask_turn(f"{url}api/threads/{thread}/turns", question)
        expect("the page, installed", True, "", installed)
        expect("the page, to a first answer", bool(turn["citations"]), str(turn), time.monotonic() - started)
    finally:
        end(process)


def ask_turn(url: str, question: str) -> Any:
    """The last thing that the page is told of a turn: its answer."""
    request = urllib.request.Request(
        url, json.dumps({"question": question}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.loads(reply.read().splitlines()[-1])


@contextmanager
def server(clone: Path, work: Path) -> Iterator[str]:
    """The address of what `make studio` starts, on a free port and over the configuration of `work`."""
    (work / "groundgraph.yaml").write_text("intent: {mode: static}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [
        "langgraph",
        "dev",
        "--no-browser",
        "--no-reload",
        "--config",
        str(clone / "langgraph.json"),
        "--port",
        port,
    ]
    quiet = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false"}
    environment = {**variables(clone), **quiet, "GROUNDGRAPH_CONFIG": str(work / "groundgraph.yaml")}
    with (work / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}", process, work / "server.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a server; a busy machine may take its time."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns as soon as the server answers; ends the script when it does not."""
    ends_at = time.monotonic() + 180
    while time.monotonic() < ends_at:
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=2):
                return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.2)
    sys.exit(f"langgraph dev does not answer:\n{log.read_text('utf-8')[-5000:]}")


def ask(url: str, body: dict[str, Any] | None = None) -> Any:
    """What the server answers, to a POST when there is a `body`."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(
        urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=120
    ) as reply:
        return json.load(reply)


def step(name: str, command: list[str], folder: Path, clone: Path | None = None, *, told: str = "") -> None:
    """Runs `command`; with `clone` by the commands of its environment. `told` must stand in what it prints."""
    started = time.monotonic()
    run = subprocess.run(command, cwd=folder, env=variables(clone), capture_output=True, text=True, check=False)
    expect(name, run.returncode == 0 and told in run.stdout, f"{run.stdout}\n{run.stderr}", time.monotonic() - started)


def variables(clone: Path | None) -> dict[str, str]:
    """The environment of a command; whatever environment this script itself runs in does not count."""
    own = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return own if clone is None else {**own, "PATH": f"{clone / '.venv' / 'bin'}{os.pathsep}{own['PATH']}"}


def expect(name: str, ok: bool, printed: str, seconds: float | None = None) -> None:
    """Ends the script with what was `printed` unless all is well."""
    if not ok:
        sys.exit(f"{name}: failed\n{printed[-5000:]}")
    print(f"ok  {name}" + (f"  {seconds:.0f} s" if seconds is not None else ""), flush=True)


if __name__ == "__main__":
    places = [Path(name).resolve() for name in sys.argv[1:] if name != "--uv"]
    main(places[0] if places else ROOT, by_uv="--uv" in sys.argv)
