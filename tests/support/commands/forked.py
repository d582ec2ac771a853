"""A `lakebed` to run: this checkout's, and not one that happens to be installed."""

import atexit
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]


@cache
def lakebed() -> Path:
    """The path of a `lakebed` whose processes are forked from one that has imported it: each saves half a second."""
    folder = Path(tempfile.mkdtemp(prefix="lakebed-commands-"))
    serve = [sys.executable, "-m", "tests.support.commands.server", str(folder / "socket")]
    server = subprocess.Popen(serve, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.communicate)  # its input ends, and so does it
    client = [sys.executable, "-I", "-S", str(Path(__file__).with_name("client.py")), str(folder / "socket")]
    script = folder / "lakebed"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n')
    script.chmod(0o755)
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    return script
