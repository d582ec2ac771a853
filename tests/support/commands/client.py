"""Has a server run a command here, with these streams, and ends as it does: `python -I -S client.py SOCKET WORD ...`.

That starts in 10 ms, a process that imports Lakebed in half a second.
"""

import json
import os
import socket
import sys


def ask(path: str, arguments: list[str]) -> int:
    """Let the server behind a socket run a command, and answer its exit code."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        socket.send_fds(server, [b"\n"], [0, 1, 2])
        request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
        server.sendall(json.dumps(request).encode())
        server.shutdown(socket.SHUT_WR)
        return server.recv(1)[0]


if __name__ == "__main__":
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
