"""Running a piece of Python in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent
# Modules are compiled once, as those of an installed package are. Where the variable is set, ours would be compiled in
# every process, and the libraries that they are compared with would not.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

# On Linux the peak that `getrusage` reports for a child can be its parent's, so the kernel's own figure is taken there.
PEAK = """
def peak_mb():
    import resource, sys
    try:
        for line in open("/proc/self/status"):
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2 ** 20 if sys.platform == "darwin" else 1024)
"""


def run_fresh(code: str) -> dict[str, Any]:
    """What `code` leaves in the mapping `result`; `peak_mb()` and `time` are at hand in it."""
    script = f"import json, time\nresult = {{}}\n{PEAK}\n{code}\nprint(json.dumps(result))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=_ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))
