"""`python -m groundgraph`."""

from __future__ import annotations

from groundgraph.cli.main import main

if __name__ == "__main__":
    main()
