"""Who runs a pipeline: the host, the process, and the commit of the code."""

import os
import socket
import subprocess
from pathlib import Path

SECONDS = 5
"""How long git may take to say which commit a file is of."""


def here() -> str:
    """This process, as the row of a run has it."""
    return f"{socket.gethostname()}/{os.getpid()}"


def is_gone(process: str | None) -> bool:
    """Whether a process was one of this host and has ended. Of other hosts nobody knows."""
    host, _, number = (process or "").rpartition("/")
    if host != socket.gethostname() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        return False
    return False


def revision(file: str | None) -> str | None:
    """The commit of the repository that a file is in, with `-dirty` if files were changed; None without git."""
    if file is None:
        return None
    asked = ["git", "-C", str(Path(file).parent), "describe", "--always", "--abbrev=40", "--exclude", "*", "--dirty"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
