"""The id of a conversation: what no database can write is refused, everything else is kept as it is."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.provenance import messages_namespace, provenance_namespace
from groundgraph.core.characters import FORBIDDEN
from groundgraph.core.errors import InputInvalid
from groundgraph.core.thread_id import checked_thread_id


@pytest.mark.guard
@given(st.text(st.characters(), min_size=1))
def test_an_id_is_kept_as_it_is_or_refused_because_of_one_character(name: str) -> None:
    if FORBIDDEN.search(name):
        with pytest.raises(InputInvalid, match="no database can write"):
            checked_thread_id(name)
    else:
        assert checked_thread_id(name) == name
        name.encode()
        assert len(provenance_namespace(name)) == 3


@pytest.mark.parametrize("name", ["a\x00b", "\x00", "a\ud800", "\udcff", "ж\udfff"])
def test_the_message_names_the_character_and_its_place_and_can_be_printed(name: str) -> None:
    with pytest.raises(InputInvalid, match=rf"U\+{ord(FORBIDDEN.search(name)[0]):04X} at place \d") as caught:
        checked_thread_id(name)
    str(caught.value).encode("ascii")


def test_an_empty_id_is_none() -> None:
    with pytest.raises(InputInvalid, match="empty"):
        checked_thread_id("")


@pytest.mark.parametrize("name", [7, uuid.UUID(int=7), "ж.1/2 %"])
def test_numbers_and_uuids_stand_for_what_they_are_written_as(name: object) -> None:
    assert checked_thread_id(name) == str(name)
    assert provenance_namespace(name) == provenance_namespace(str(name))
    assert messages_namespace(name) == messages_namespace(str(name))
