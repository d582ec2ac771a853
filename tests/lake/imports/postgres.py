"""A PostgreSQL server of this machine, if it has one, with a password that is hard to hide."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi

PASSWORD = "s3cr%t/@:x"
TRIES, PAUSE = 600, 0.1


def binaries() -> Path | None:
    """The folder of initdb and postgres."""
    given, found = os.environ.get("LAKEBED_PG_BIN"), shutil.which("initdb")
    places = [given, found and os.path.dirname(os.path.realpath(found)), *Path("/usr/lib/postgresql").glob("*/bin")]
    return next((Path(place) for place in places if place and (Path(place) / "postgres").exists()), None)


@contextmanager
def server() -> Iterator[str]:
    """The URL of a new server, which ends with the block. Root runs it as nobody: PostgreSQL refuses root."""
    folder = binaries()
    if folder is None:
        pytest.skip("there is no PostgreSQL here: set LAKEBED_PG_BIN to a folder with initdb and postgres")
    home = Path(tempfile.mkdtemp(prefix="lakebed-pg-"))
    options: dict[str, Any] = {"cwd": "/", "env": {"HOME": str(home), "LC_ALL": "C", "PATH": os.environ["PATH"]}}
    (home / "password").write_text(f"{PASSWORD}\n")
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        options |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        for path in (home, home / "password"):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
    data = ["-D", f"{home}/data"]
    login = ["-U", "postgres", "-A", "scram-sha-256", "--pwfile", f"{home}/password", "--locale=C", "-E", "UTF8", "-N"]
    subprocess.run([folder / "initdb", *data, *login], check=True, capture_output=True, **options)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ["-c", "listen_addresses=127.0.0.1", "-p", str(port), "-k", str(home), "-c", "fsync=off"]
    running = subprocess.Popen(
        [folder / "postgres", *data, *settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    )
    url = f"postgresql://postgres:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/postgres"
    try:
        _wait(url)
        yield url
    finally:
        running.send_signal(2)  # ends its sessions too
        running.wait()
        shutil.rmtree(home)


def _wait(url: str) -> None:
    for left in reversed(range(TRIES)):
        try:
            dbapi.connect(url).close()
            return
        except Error:
            if not left:
                raise
            time.sleep(PAUSE)
