"""A local folder as a lake's files, and files outside it."""

from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from lakebed.files import LocalFiles
from lakebed.testing.files import Outside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def files(root: Path) -> LocalFiles:
    return LocalFiles(root)


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    def put(name: str, data: bytes) -> str:
        path = tmp_path / "outside" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return str(path)

    return put


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, str]]:
    """How to reach a server of moto that speaks S3, with a bucket `lakebed`."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        urlopen(Request(f"{address}/lakebed", method="PUT", headers={"Authorization": "AWS key:x"})).close()
        yield {
            "endpoint": address,
            "region": "us-east-1",
            "access_key_id": "key",
            "secret_access_key": "secret",
            "allow_http": "true",
        }
    finally:
        server.stop()
