"""Run a workload in a new process, where nothing has been read yet."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def run(module: str, *arguments: object) -> dict[str, Any]:
    """Run a module in a new process, and return the JSON object that it prints."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def resident_bytes() -> int:
    """The memory that this process uses now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
