"""What a README has besides sentences: its code is quoted as it stands, its badges and link targets before no text."""

from __future__ import annotations

import pytest
from cited_slices import asked, sliced

pytestmark = pytest.mark.covers("A12")

BADGES = ".. image:: https://ci/pumpctl/badge.svg\n   :target: https://ci/pumpctl\n   :alt: pumpctl build\n"
RST = f"""=======
pumpctl
=======

{BADGES}{BADGES}
pumpctl drives the pumps of a plant.

Commit
------

A change of pressure is committed with a batch:

.. code-block:: python
   :linenos:

   with pumpctl.batch() as batch:
       batch.set(4)

       batch.commit()

Inspect
-------

The tree of valves is inspected by a call of show::

    from pumpctl import tree

    tree().show()

It is printed.

Install
-------

::

    pip install pumpctl

* Or from a copy of the sources::

    make pumpctl

Colours
-------

The colours of gauges are shown by a call:

.. console::

    pumpctl colours

.. warning ::

    Colours of broken gauges cannot be trusted.

How is pumpctl licensed?
------------------------

`BSD license <https://example.org/pumpctl/LICENSE>`_.

.. _pumpctl: https://example.org/pumpctl
.. _licensed: #pumpctl
.. |pumpctl| image:: https://ci/pumpctl.svg

Package contents
----------------

LICENSE: The pumpctl license, which says how pumpctl is licensed.

Hashes
------

>>> pumpctl.hash("valve")
17
"""
MARKDOWN = """Valvectl
========

[![Valvectl build](https://ci/valvectl.svg)](https://ci/valvectl)
[![Valvectl docs](https://docs/valvectl.svg)](https://docs/valvectl)

<p align="center">
  <a href="https://pypi/valvectl"><img src="https://pypi/valvectl.svg" alt="Valvectl"></a>
  <a href="#usage">Usage</a>
</p>

Valvectl opens valves.

Usage
-----
A lock of valves has the API of threads. It is
held by one process.

> **Warning**
> The lock of `gates` must not be used by libraries.
> Use the lock of valves.

Thanks
------

* https://example.org/how-to-open-valves-with-valvectl
* https://example.org/the-lock-of-valves
"""


async def quoted(folder, text: str, question: str) -> str:
    """The answer over `text` as a file, every citation of which slices to its quote."""
    name = "README.md" if text in (MARKDOWN, FOLDED) else "README.rst"
    (folder / name).write_text(text)
    output = await asked(folder, name, question)
    assert output["citations"]
    assert all(sliced(folder, one) == one["quote"] for one in output["citations"])
    return output["answer"]


@pytest.mark.covers("A13", "K14")
@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (
            "How do I commit a change of pressure with a batch?",
            "with a batch:\n> \n> ```python\n> with pumpctl.batch() as batch:\n>     batch.set(4)\n> \n"
            ">     batch.commit()\n> ```",
        ),
        (
            "How do I inspect the tree of valves?",
            "by a call of show::\n> \n> ```\n> from pumpctl import tree\n> \n> tree().show()\n> ```\n",
        ),
        ("How do I install pumpctl?", "> ```\n> pip install pumpctl\n> ```"),
        ("How is it installed from a copy of the sources?", "sources::\n> \n> ```\n> make pumpctl\n> ```"),
        ("How are the colours of gauges shown?", "by a call:\n> \n> ```\n> pumpctl colours\n> ```"),
        ("Can colours of broken gauges be trusted?", "\n> Colours of broken gauges cannot be trusted. ["),
        ("Which hashes has a valve?", '> ```\n> >>> pumpctl.hash("valve")\n> 17\n> ```'),
    ],
)
async def test_code_of_restructured_text_is_quoted_whole_and_in_its_lines(tmp_path, question, shown):
    answer = await quoted(tmp_path, RST, question)
    assert shown in answer
    assert "code-block" not in answer


async def test_a_link_that_is_all_there_is_below_the_heading_asked_for_is_quoted_first(tmp_path):
    answer = await quoted(tmp_path, RST, "How is pumpctl licensed?")
    assert answer.startswith("From the evidence:\n\n> [BSD license](https://example.org/pumpctl/LICENSE). [")


@pytest.mark.parametrize(
    ("text", "question", "first"),
    [
        (RST, "What is pumpctl?", "pumpctl drives the pumps of a plant."),
        (MARKDOWN, "What is Valvectl?", "Valvectl opens valves."),
        (MARKDOWN, "How do I open valves with Valvectl?", "Valvectl opens valves."),
    ],
)
async def test_badges_and_link_targets_are_quoted_before_no_text(tmp_path, text, question, first):
    answer = await quoted(tmp_path, text, question)
    assert answer.startswith(f"From the evidence:\n\n> {first}")
    assert "image::" not in answer
    assert "https://ci" not in answer
    assert "<img" not in answer


async def test_names_of_badges_are_no_table(tmp_path):
    badges = "|pypi| |build|_\n|  |stars| |forks|\n"
    text = f"pumpctl\n=======\n\n{badges}\nThis drives the pumps of a plant.\n\nSee `the manual`_.\n"
    answer = await quoted(tmp_path, text, "What is pumpctl?")
    assert answer.startswith("From the evidence:\n\n> This drives the pumps of a plant.")
    assert "|" not in answer
    table = await quoted(tmp_path, text + "\n| pump | hall |\n|---|---|\n|P17| |\n", "Which hall is the pump P17 in?")
    assert "|P17| |" in table


async def test_neither_the_rule_below_a_heading_nor_the_marks_of_a_quotation_stand_in_a_quote(tmp_path):
    answer = await quoted(tmp_path, MARKDOWN, "Which API has a lock of valves?")
    assert "> A lock of valves has the API of threads. It is held by one process." in answer
    assert "---" not in answer
    warned = await quoted(tmp_path, MARKDOWN, "Must the lock of gates be used by libraries?")
    assert "**Warning** The lock of `gates` must not be used by libraries. Use the lock of valves." in warned


LISTS = """filetype
========

A small package that tells the mime type of a buffer.

Features
--------

- Provides extensions and the mime type
- Finds files by the mime type

Image
-----

-  **jpg** - ``image/jpeg``
-  **webp** - ``image/webp``
"""


async def test_an_item_of_marks_is_no_fragment_beside_the_items_of_words(tmp_path):
    answer = await quoted(tmp_path, LISTS, "What is the mime type of webp?")
    assert "> - **webp** - ``image/webp``" in answer


async def test_a_note_that_is_numbered_like_a_link_target_is_text(tmp_path):
    answer = await quoted(tmp_path, "# Pumps\n\nSee [1].\n\n[1]: Pumps of hall 3 bite.\n", "Which pumps bite?")
    assert "Pumps of hall 3 bite." in answer


FOLDED = """# Pumps

<details>
<summary>How to reset a pump</summary>

Hold the green button for five seconds.

</details>

<div align="center">

The details of a pump are printed on its plate.

</div>
"""


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("Where are the details of a pump printed?", "The details of a pump are printed on its plate."),
        ("How do I reset a pump by the green button?", "Hold the green button for five seconds."),
    ],
)
async def test_tags_that_set_out_a_block_are_no_part_of_a_quote(tmp_path, question, shown):
    answer = await quoted(tmp_path, FOLDED, question)
    assert f"> {shown}" in answer
    assert "</" not in answer
    assert "<d" not in answer


REFERENCE = """# Pumps

::: plant.pumps.Pump
    options:
        show_bases: false

The options of a pump are kept in its memory.
"""


async def test_a_reference_to_a_module_is_no_quote(tmp_path):
    answer = await quoted(tmp_path, REFERENCE, "Where are the options of a pump kept?")
    assert "> The options of a pump are kept in its memory." in answer
    assert "show_bases" not in answer
