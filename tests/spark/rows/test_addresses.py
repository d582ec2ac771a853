"""Positions of rows out of the executors: the same bitmaps whichever way they come."""

import random

import pytest
from pyroaring import BitMap64

from lakebed.spark.rows import addresses
from lakebed.spark.rows.addresses import FILE_ORDINAL, POSITION, bare
from lakebed.table.manifest.manifest_pb2 import DataFileRef

FILES = [DataFileRef(path=f"{number}.parquet", num_rows=1 << 40) for number in range(4)]


@pytest.mark.parametrize("few", [addresses.FEW, 0], ids=["rows", "bitmaps"])
def test_every_position_comes_once_in_the_bitmap_of_its_file(spark, monkeypatch, few):
    monkeypatch.setattr(addresses, "FEW", few)
    chance = random.Random(7)
    edges = [0, 1, 63, 64, 32767, 32768, 32769, 65535, 65536, (1 << 32) - 1, 1 << 32, (1 << 35) + 5]
    places = [(0, one) for one in edges] + [(2, chance.randrange(200_000)) for _ in range(500)] + [(3, 9), (3, 9)]
    expected = {number: BitMap64([place for file, place in places if file == number]) for number in (0, 2, 3)}
    frame = spark.createDataFrame(places, f"{FILE_ORDINAL} int, {POSITION} bigint").repartition(3)
    found = addresses.deletion(frame, FILES, len(places))
    assert frame.columns == [bare(FILE_ORDINAL), bare(POSITION)]
    assert not found.whole
    assert {int(file.path[0]): bitmap for file, bitmap in found.some} == expected
