"""Names by which threads and their history may be looked for (fault 67)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph import load_settings
from groundgraph.core.errors import ConfigurationError, FilterInvalid
from groundgraph.core.thread_id import KNOWN_METADATA_KEYS, check_metadata_keys

pytestmark = pytest.mark.covers("fault 67")


@pytest.mark.guard
@given(st.text())
def test_a_name_is_known_or_refused(name: str) -> None:
    if name in KNOWN_METADATA_KEYS:
        check_metadata_keys({name: "x"})
        return
    with pytest.raises(FilterInvalid, match="cannot be looked for"):
        check_metadata_keys({"owner": "x", name: "x"})


def test_the_message_names_the_nearest_and_the_setting() -> None:
    with pytest.raises(FilterInvalid, match=r"'onwer'.*owner.*server\.metadata_keys"):
        check_metadata_keys({"onwer": "x"})


def test_names_of_ones_own_are_configured() -> None:
    settings = load_settings({"server": {"metadata_keys": ["topic"]}})
    check_metadata_keys({"topic": "pumps"}, settings.server.metadata_keys)
    check_metadata_keys(None)
    with pytest.raises(ConfigurationError, match="metadata_keys"):
        load_settings({"server": {"metadata_keys": ["a') OR 1=1"]}})
