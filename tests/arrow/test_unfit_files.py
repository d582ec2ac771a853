"""What is no Parquet file that could be added, and what the refusal says."""

import base64
import struct
from pathlib import Path
from uuid import uuid4

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.parquet import encryption

from lakebed.arrow.add_files import added_files
from lakebed.arrow.write.write import write
from lakebed.errors import Forbidden, Invalid, NotFound
from lakebed.files import LocalFiles
from lakebed.table.partition.spec import UNPARTITIONED
from lakebed.table.schema.schema import Schema, with_ids

TABLE = pyarrow.table({"id": [1, 2, 3], "name": ["a", "b", None]})
SCHEMA = with_ids(Schema({"id": "long", "name": "string"}), 1, 1)


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "lake")


def entry(files, path, schema=SCHEMA, spec=UNPARTITIONED):
    [found] = added_files(files, schema, spec, [path])
    return found


def refusal(files, paths, schema=SCHEMA, spec=UNPARTITIONED) -> str:
    with pytest.raises(Invalid) as caught:
        added_files(files, schema, spec, [paths] if isinstance(paths, str) else paths)
    return caught.value.found or str(caught.value)


def test_a_file_that_is_given_twice_is_refused(files, put, tmp_path):
    path = put(TABLE)
    with pytest.raises(Invalid, match="twice"):
        added_files(files, SCHEMA, UNPARTITIONED, [path, f"file://{path}"])


def test_all_files_that_are_not_there_are_named(files, put, tmp_path):
    with pytest.raises(NotFound) as caught:
        added_files(files, SCHEMA, UNPARTITIONED, [put(TABLE), str(tmp_path / "x"), str(tmp_path / "y")])
    assert caught.value.subject == f"file://{tmp_path}/x, file://{tmp_path}/y"


def test_folders_and_patterns_without_files_are_refused(files, put, tmp_path):
    put(TABLE, "a.txt", row_group_size=2)
    (tmp_path / "empty" / "_hidden").mkdir(parents=True)
    with pytest.raises(Invalid, match="the folder has no files"):
        added_files(files, SCHEMA, UNPARTITIONED, [str(tmp_path / "empty")])
    for pattern in ("*.parquet", "[bc].parquet", "?.parquet"):
        with pytest.raises(Invalid, match="no file matches the pattern"):
            added_files(files, SCHEMA, UNPARTITIONED, [str(tmp_path / pattern)])


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(files, put):
    assert entry(files, put(TABLE, "a[1]*.parquet")).num_rows == 3


@pytest.mark.parametrize("name", ["_a.parquet", ".a.parquet", "a.parquet._COPYING_"])
def test_names_that_spark_skips_are_refused(files, put, name):
    assert "Spark skips" in refusal(files, put(TABLE, name))


def test_files_of_tables_are_refused(files, put):
    [own] = write(files, f"tables/{uuid4()}/data", SCHEMA, TABLE)
    assert "folder of a table" in refusal(files, files.location(own.path))
    assert entry(files, put(TABLE, f"{uuid4()}/a.parquet")).num_rows == 3  # outside it may be anything


def test_what_is_no_parquet_is_refused(files, put, tmp_path):
    good = Path(put(TABLE)).read_bytes()
    bad = {
        "empty": b"",
        "short": b"PAR1",
        "text": b"id,name\n1,a\n",
        "cut": good[:-1],
        "tail": good[10:],
        "no footer": good[: len(good) // 2],
        "grown": good + b"x",
        "wrong magic": b"PAR2" + good[4:],
        "wrong length": good[:-8] + struct.pack("<I", 1 << 30) + b"PAR1",
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(Invalid) as caught:
        added_files(files, SCHEMA, UNPARTITIONED, [str(tmp_path / name) for name in bad])
    found = caught.value.found.split("; file://")
    assert len(found) == len(bad)


def test_a_file_without_rows_is_refused(files, put):
    assert "no rows" in refusal(files, put(TABLE.slice(0, 0)))


def test_a_file_that_may_not_be_read_is_forbidden(files, put, monkeypatch):
    path = put(TABLE)

    def refuse(*_, **__):
        raise PermissionError(13, "no")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(Forbidden):
        added_files(files, SCHEMA, UNPARTITIONED, [path])


@settings(max_examples=100)
@given(st.data())
def test_a_file_that_was_cut_or_whose_end_was_changed_is_refused(tmp_path_factory, data):
    # The rest of a footer is damaged in tests/test_damage.py, by children: Arrow would end the process.
    folder = tmp_path_factory.getbasetemp() / "changed"
    folder.mkdir(exist_ok=True)
    path = folder / "a.parquet"
    pyarrow.parquet.write_table(TABLE, path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        content[-data.draw(st.integers(1, 8))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    assert "a.parquet" in refusal(LocalFiles(folder / "lake"), str(path))


class Kms(encryption.KmsClient):
    """Keeps keys by not keeping them."""

    def __init__(self, _):
        super().__init__()

    def wrap_key(self, key, _):
        return base64.b64encode(key)

    def unwrap_key(self, key, _):
        return base64.b64decode(key)


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_an_encrypted_file_is_refused(files, tmp_path, plaintext_footer):
    factory = encryption.CryptoFactory(Kms)
    config = encryption.EncryptionConfiguration(
        footer_key="k", column_keys={"k": ["id"]}, plaintext_footer=plaintext_footer
    )
    keys = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    path = str(tmp_path / "secret.parquet")
    with pyarrow.parquet.ParquetWriter(path, TABLE.schema, encryption_properties=keys) as writer:
        writer.write_table(TABLE)
    assert "secret.parquet" in refusal(files, path)
