"""`groundgraph doctor --setup`: from nothing to a configured model, in questions and answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from groundgraph.cli.output import say

FILE = Path("groundgraph.yaml")


@dataclass(frozen=True)
class Choice:
    """A way to a chat model.

    Attributes:
        title: what a newcomer reads.
        provider: of the section `llm`; empty for no model.
        model: the name that is proposed.
        address: the `base_url` that is proposed; empty where nobody has to name one.
        key: the variable that holds the key.
    """

    title: str
    provider: str = ""
    model: str = ""
    address: str = ""
    key: str = ""


CHOICES = (
    Choice("no model: answers quote the evidence"),
    Choice("Ollama, on this machine", "ollama", "qwen3:8b", "http://127.0.0.1:11434"),
    Choice("a server with OpenAI's protocol (llama.cpp, vLLM, LM Studio)", "openai", "", "http://127.0.0.1:8080/v1"),
    Choice("OpenAI", "openai", "gpt-5-mini", key="OPENAI_API_KEY"),
    Choice("Anthropic", "anthropic", "claude-sonnet-4-5", key="ANTHROPIC_API_KEY"),
    Choice("Google", "google_genai", "gemini-2.5-flash", key="GOOGLE_API_KEY"),
    Choice("Mistral", "mistralai", "mistral-small-latest", key="MISTRAL_API_KEY"),
)


def set_up() -> bool:
    """Ask which models there are and write `groundgraph.yaml` in this folder; whether it was written.

    A file that is there stays as it is, and what would be written is shown.

    Raises:
        ConfigurationError: what was answered cannot work.
    """
    import yaml

    from groundgraph.settings.load_settings import load_settings

    chosen = _chosen()
    sections = {**_chat(chosen), **_embeddings()}
    load_settings(sections)
    text = yaml.safe_dump(sections, sort_keys=False, allow_unicode=True) if sections else "{}\n"
    written = not FILE.exists()
    if written:
        FILE.write_text(text, "utf-8")
    say(f"\n{FILE} is written:\n" if written else f"\n{FILE} is there already and stays as it is. Put into it:\n")
    say(text)
    if chosen.key:
        say(f"The key is read from the variable {chosen.key}, never from the file.\n")
    return written


def _chosen() -> Choice:
    say("Which model writes the answers?")
    for number, choice in enumerate(CHOICES, 1):
        say(f"  {number}  {choice.title}")
    while True:
        given = typer.prompt("Number", default=1)
        if 1 <= given <= len(CHOICES):
            return CHOICES[given - 1]
        say(f"There are {len(CHOICES)} of them.")


def _chat(chosen: Choice) -> dict[str, Any]:
    if not chosen.provider:
        return {}
    model = typer.prompt("Name of the model", default=chosen.model or None)
    section = {"provider": chosen.provider, "model": model}
    if chosen.address:
        section["base_url"] = typer.prompt("Address", default=chosen.address)
    return {"llm": section, "synthesis": {"style": "conversational", "require_citations": True}}


def _embeddings() -> dict[str, Any]:
    say("\nSearch by meaning too? A folder of an embedding model for fastembed (model.onnx, tokenizer.json, ...).")
    folder = typer.prompt("Folder, or nothing", default="", show_default=False).strip()
    if not folder:
        return {}
    name = typer.prompt("Name of the model", default=Path(folder).name)
    return {"embeddings": {"provider": "fastembed", "model": name, "folder": folder}}
