"""Partition specs and sort orders in Iceberg's JSON, which is that of their bodies."""

import json
from typing import Any

from lakebed.table.partition.json import order_to_json, spec_to_json
from lakebed.table.partition.sort_order import SortOrder
from lakebed.table.partition.spec import PartitionSpec


def spec_json(spec: PartitionSpec) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(spec_to_json(spec))
    return body


def order_json(order: SortOrder) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(order_to_json(order))
    return body
