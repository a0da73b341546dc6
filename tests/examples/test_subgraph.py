"""The three agents of the subgraph example: a turn as a node, as a tool, and its context before a loop with tools."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from groundgraph import turn_graph
from groundgraph.testing import Prompt, Reply, Rule, ScriptedChatModel

pytestmark = pytest.mark.covers("U4")

THREAD = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def agents(example, monkeypatch):
    """The example, and its scripts beside `run.py` as modules."""
    copied = example("subgraph")
    monkeypatch.syspath_prepend(str(copied.folder))
    modules = {name: importlib.import_module(name) for name in ("as_tool", "context_first")}
    yield copied, modules
    for name in modules:
        del sys.modules[name]


def ask(question):
    return {"messages": [("user", question)]}


# As a node


async def test_the_desk_answers_from_the_manual_and_opens_tickets_for_the_rest(agents):
    copied, _ = agents
    desk = copied.run.desk(turn_graph(copied.settings()))
    covered = await desk.ainvoke(ask("When is pump 17 serviced?"), THREAD)
    assert (covered["outcome"], len(covered["messages"])) == ("answered", 2)
    assert "every 90 days" in covered["messages"][-1].text
    follow_up = await desk.ainvoke(ask("And how long does it take?"), THREAD)
    assert "The service takes two hours." in follow_up["messages"][-1].text
    missing = await desk.ainvoke(ask("Who founded the company?"), THREAD)
    assert missing["outcome"] == "insufficient"
    assert missing["messages"][-1].text.strip() == "Ticket opened: somebody will look into it."
    assert len(missing["metadata"]["retrieval_provenance_history"]) == 3
    again = await desk.ainvoke(ask("Who painted the hall?"), THREAD)
    assert sum("Ticket opened" in message.text for message in again["messages"]) == 2


@pytest.mark.slow
def test_the_commands_of_the_readme_print_what_each_agent_does(agents):
    copied, _ = agents
    [block] = re.findall(r"```bash\n(.*?)```", (copied.folder / "README.md").read_text("utf-8"), re.DOTALL)
    printed = [
        subprocess.run(
            ["bash", "-c", command.replace("python", f"{sys.executable} -W error", 1)],
            cwd=copied.folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for command in block.strip().splitlines()
    ]
    node, tool, first = printed
    assert node.count("> Pump 17 is serviced every 90 days. The service takes two hours. [1]") == 2, (
        "tokens come once in each answer"
    )
    assert "cites seals: 'A pump that leaks at the shaft needs a new seal S9.'" in tool
    assert tool.index("parts_in_stock: 3 of seal S9") > tool.index("ask_manual:")
    assert "{'tool': 'parts_in_stock', 'args': {'part': 'seal S9'}, 'status': 'success'" in first


# As a tool


async def test_the_agents_model_is_given_the_checked_answer_and_the_other_tools_result(agents):
    _, modules = agents
    run = modules["as_tool"]
    model = ScriptedChatModel(run.SCRIPT)
    result = await run.agent(model, checkpointer=InMemorySaver()).ainvoke(ask("Pump 17 leaks. What do I need?"), THREAD)
    asked, stocked = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert asked.artifact["citations"][0]["quote"] == "A pump that leaks at the shaft needs a new seal S9."
    assert stocked.text == "3 of seal S9"
    assert "needs a new seal S9. [1]" in model.calls[-1].text
    assert "3 of seal S9" in model.calls[-1].text
    assert [tool["function"]["name"] for tool in model.calls[0].kwargs["tools"]] == ["ask_manual", "parts_in_stock"]


# Context first


@pytest.mark.covers("T8")
async def test_evidence_is_there_before_the_loop_and_the_record_tells_of_its_tools(agents):
    copied, modules = agents
    run = modules["context_first"]

    def reply(prompt: Prompt) -> Reply:
        calls = [{"name": "parts_in_stock", "args": {"part": part}} for part in ("seal S9", "filter F2")]
        return Reply("Order nothing [1].") if "14 of filter F2" in prompt.text else Reply(tool_calls=calls)

    model = ScriptedChatModel(rules=[Rule("", reply)])
    tools = [modules["as_tool"].parts_in_stock]
    graph = run.hybrid(copied.settings(), model, tools, checkpointer=InMemorySaver())
    result = await graph.ainvoke(ask("What do I order for a leaking pump?"), THREAD)
    first = model.calls[0].prompt.messages
    assert [(message.role, message.name) for message in first] == [("user", ""), ("user", "evidence")]
    assert "needs a new seal S9" in first[1].text
    provenance = result["provenance"]
    assert provenance["results"][0]["source_id"] == "seals"
    assert provenance["tool_executions"] == [
        {"tool": "parts_in_stock", "args": {"part": "seal S9"}, "status": "success", "result": "3 of seal S9"},
        {"tool": "parts_in_stock", "args": {"part": "filter F2"}, "status": "success", "result": "14 of filter F2"},
    ]
    again = await graph.ainvoke(ask("Who founded the company?"), THREAD)
    assert (again["provenance"]["outcome"], again["provenance"]["results"]) == ("insufficient", [])
    assert again["provenance"]["tool_executions"] == [], "those of this question only"
    assert [message.name for message in again["messages"]].count("evidence") == 1, "nothing was found, nothing is shown"


def test_each_agent_is_small_enough_to_be_read(agents):
    copied, _ = agents
    assert all(len(path.read_text("utf-8").splitlines()) <= 60 for path in copied.folder.glob("*.py"))
