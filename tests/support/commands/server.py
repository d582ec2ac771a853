"""Imports the command line once, and forks a process for each command. Nothing is open here that a fork would share.

It ends when its input does, so with the tests that started it. tests/cli/test_processes.py starts whole processes.
"""

import json
import os
import pkgutil
import select
import signal
import socket
import sys
from importlib import import_module
from typing import NoReturn

import lakebed.cli.commands
from lakebed.cli.main import main

LOADED_LATER = ("lakebed.lake.lake", "lakebed.arrow.engine", "pyarrow.csv", "pyarrow.json", "pyarrow.parquet")


def serve(path: str) -> None:
    """Answer clients until the input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        words = pkgutil.iter_modules(lakebed.cli.commands.__path__, f"{lakebed.cli.commands.__name__}.")
        for module in (*(word.name for word in words), *LOADED_LATER):
            import_module(module)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            client, _ = listening.accept()
            if os.fork() == 0:
                answer(client)
            client.close()


def answer(client: socket.socket) -> NoReturn:
    """Run the client's command in a process of its own, and send its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(client, 1, 3)
    request = json.loads(b"".join(iter(lambda: client.recv(1 << 16), b"")))
    command = os.fork()
    if command == 0:
        client.close()
        run(request["arguments"], request["folder"], request["environment"], streams)
    for stream in streams:
        os.close(stream)  # or a reader of them would wait for this process, too
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    client.send(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


def run(arguments: list[str], folder: str, environment: dict[str, str], streams: list[int]) -> NoReturn:
    """Become the command."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # What Python knew of the server's own streams, such as whether they are pipes, is not true of these.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["lakebed", *arguments]
    main()


if __name__ == "__main__":
    serve(sys.argv[1])
