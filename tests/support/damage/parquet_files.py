"""Parquet files of many shapes, as strangers write them, and the tables that they can be added to."""

from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow
from pyarrow import parquet
from pyarrow.parquet import encryption

ROWS = 60


@dataclass(frozen=True, slots=True)
class Sample:
    """A file, and the columns of a table that it fits."""

    data: bytes
    columns: dict[str, str]


def samples() -> dict[str, Sample]:
    """Every kind of file, by name."""
    every, nested = every_type(), nested_types()
    plain = pyarrow.table({"id": range(ROWS), "name": [f"name {number % 7}" for number in range(ROWS)]})
    names = {"id": "long", "name": "string"}
    return {
        "plain": Sample(written(plain), names),
        "every type": Sample(written(every, store_schema=False), EVERY),
        "with Arrow's schema": Sample(written(every), EVERY),
        "nested": Sample(written(nested), NESTED),
        "without dictionaries": Sample(written(every, use_dictionary=False, compression="none"), EVERY),
        "page index": Sample(written(every, write_page_index=True, row_group_size=25), EVERY),
        "bloom filters": Sample(
            written(plain, bloom_filter_options={"id": True, "name": True}, row_group_size=30), names
        ),
        "checksums": Sample(written(plain, write_page_checksum=True, row_group_size=16, compression="zstd"), names),
        "second pages": Sample(written(every, data_page_version="2.0", compression="gzip"), EVERY),
        "deltas": Sample(written(plain, use_dictionary=False, column_encoding=_DELTAS, compression="lz4"), names),
        "no statistics": Sample(written(plain, write_statistics=False), names),
        "sorted": Sample(written(plain, sorting_columns=[parquet.SortingColumn(0)]), names),
        "encrypted": Sample(_encrypted(plain, plaintext_footer=False), names),
        "signed": Sample(_encrypted(plain, plaintext_footer=True), names),
    }


def written(table: pyarrow.Table, **options: Any) -> bytes:
    """The table as a Parquet file."""
    file = BytesIO()
    parquet.write_table(table, file, **options)
    return file.getvalue()


_DELTAS = {"id": "DELTA_BINARY_PACKED", "name": "DELTA_BYTE_ARRAY"}

EVERY = {
    "flag": "boolean",
    "small": "int",
    "large": "long",
    "single": "float",
    "real": "double",
    "day": "date",
    "hour": "time",
    "local": "timestamp",
    "moment": "timestamptz",
    "exact": "timestamp_ns",
    "text": "string",
    "raw": "binary",
    "sized": "fixed(5)",
    "price": "decimal(9, 2)",
    "long_price": "decimal(38, 6)",
}

NESTED = {
    "id": "long",
    "tags": "list<string>",
    "sizes": "map<string, int>",
    "place": "struct<city: string, at: struct<lat: double, lon: double>>",
    "grid": "list<list<int>>",
}


def every_type() -> pyarrow.Table:
    """A column of each type; every seventh value is null."""
    moment = datetime(2026, 3, 1, 12)

    def column(make: Any, type: pyarrow.DataType) -> pyarrow.Array:
        return pyarrow.array([None if number % 7 == 3 else make(number) for number in range(ROWS)], type)

    return pyarrow.table(
        {
            "flag": column(lambda n: n % 2 == 0, pyarrow.bool_()),
            "small": column(lambda n: n - 20, pyarrow.int32()),
            "large": column(lambda n: n << 40, pyarrow.int64()),
            "single": column(lambda n: n / 4, pyarrow.float32()),
            "real": column(lambda n: n / 3, pyarrow.float64()),
            "day": column(lambda n: date(2026, 1, 1 + n % 28), pyarrow.date32()),
            "hour": column(lambda n: time(n % 24, n), pyarrow.time64("us")),
            "local": column(lambda n: moment.replace(minute=n), pyarrow.timestamp("us")),
            "moment": column(lambda n: moment.replace(minute=n), pyarrow.timestamp("us", "UTC")),
            "exact": column(lambda n: n, pyarrow.timestamp("ns")),
            "text": column(lambda n: "é" * (n % 5), pyarrow.string()),
            "raw": column(lambda n: bytes([n]) * (n % 9), pyarrow.binary()),
            "sized": column(lambda n: bytes([n]) * 5, pyarrow.binary(5)),
            "price": column(lambda n: Decimal(n) / 4, pyarrow.decimal128(9, 2)),
            "long_price": column(lambda n: Decimal(n) * 10**20, pyarrow.decimal128(38, 6)),
        }
    )


def nested_types() -> pyarrow.Table:
    """Lists, maps and structs, with nulls and empty ones on every level."""
    pairs = pyarrow.map_(pyarrow.string(), pyarrow.int32())
    at = pyarrow.struct([("lat", pyarrow.float64()), ("lon", pyarrow.float64())])
    place = pyarrow.struct([("city", pyarrow.string()), ("at", at)])
    numbers = range(ROWS)
    return pyarrow.table(
        {
            "id": pyarrow.array(numbers, pyarrow.int64()),
            "tags": pyarrow.array(
                [None if n % 5 == 0 else [f"t{n}", None][: n % 3] for n in numbers], pyarrow.list_(pyarrow.string())
            ),
            "sizes": pyarrow.array([None if n % 4 == 0 else [(f"k{n}", n)] * (n % 2) for n in numbers], pairs),
            "place": pyarrow.array(
                [None if n % 6 == 0 else {"city": f"c{n}", "at": {"lat": n / 2, "lon": None}} for n in numbers], place
            ),
            "grid": pyarrow.array(
                [[[n, n], [], None][: n % 4] for n in numbers], pyarrow.list_(pyarrow.list_(pyarrow.int32()))
            ),
        }
    )


class _Keys(encryption.KmsClient):  # type: ignore[misc]
    """Wraps keys in nothing."""

    def __init__(self, _: Any) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, _: str) -> bytes:
        return b64encode(key)

    def unwrap_key(self, key: bytes, _: str) -> bytes:
        return b64decode(key)


def _encrypted(table: pyarrow.Table, plaintext_footer: bool) -> bytes:
    config = encryption.EncryptionConfiguration(
        footer_key="k", column_keys={"k": ["id"]}, plaintext_footer=plaintext_footer
    )
    factory = encryption.CryptoFactory(_Keys)
    file = BytesIO()
    keys = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    with parquet.ParquetWriter(file, table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)
    return file.getvalue()
