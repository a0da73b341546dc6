"""The command `groundgraph`, also as `python -m groundgraph`."""

from __future__ import annotations

import sys


def run() -> None:
    """Load the command line, and run it."""
    try:
        # Loaded here, which takes a moment in which Ctrl-C may be pressed already.
        from groundgraph.cli.main import main
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    main()


if __name__ == "__main__":
    run()
