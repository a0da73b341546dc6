"""The environments of the peers: made once, beside each other, so that no peer sees another one's packages."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = {
    "langchain": ["langchain-classic==1.0.8", "langchain-community==0.4.2", "rank_bm25==0.2.2"],
    "haystack": ["haystack-ai==3.4.0"],
    "llamaindex": ["llama-index-core==0.14.25"],
    # The newest that Python 3.11 can have.
    "dataknobs": ["dataknobs-bots==0.6.9", "dataknobs-data==0.4.13"],
    "engines": ["tantivy==0.27.0", "bm25s==0.3.9", "PyStemmer", "faiss-cpu==1.15.1", "numpy"],
    "plots": ["matplotlib"],
}


def python_of(name: str, folder: Path) -> Path:
    """The Python of an environment, made in `folder` when it is not there; that of this process for an unknown name."""
    if name not in PACKAGES:
        return Path(sys.executable)
    target = folder / name
    python = target / "bin" / "python"
    ready = target / "ready"
    if not ready.exists():
        shutil.rmtree(target, ignore_errors=True)
        venv.create(target, with_pip=True)
        print(f"installing {', '.join(PACKAGES[name])} ...", file=sys.stderr, flush=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
        ready.touch()
    return python
