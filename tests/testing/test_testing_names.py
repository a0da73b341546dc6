"""The names of groundgraph.testing, loaded one by one."""

from __future__ import annotations

import subprocess
import sys

import pytest

import groundgraph.testing


def test_every_name_can_be_imported():
    for name in groundgraph.testing.__all__:
        assert callable(getattr(groundgraph.testing, name)), name
    assert set(groundgraph.testing.__all__) <= set(dir(groundgraph.testing))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = groundgraph.testing.Nothing


def test_importing_the_package_loads_no_model_code():
    code = (
        "import sys, groundgraph.testing as t\n"
        "assert 'langchain_core' not in sys.modules\n"
        "t.GroundedConfigBuilder, t.InMemorySource\n"
        "assert 'langchain_core' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
