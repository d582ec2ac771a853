"""SQL on Spark from the command line."""

from typing import TYPE_CHECKING

import lakebed
from tests.cli.conftest import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_statement_runs_on_spark_with_the_names_of_the_branch(
    cli: Cli, lake: lakebed.Lake, spark: "SparkSession"
) -> None:
    lake.catalog().create_branch("dev")
    done = cli("sql", "delete from sales.orders where id = 1", "--on", "dev", "-m", "clean up", "--json")
    assert done.json[0]["message"] == "clean up"
    assert cli("sql", "select count(*) as n from sales.orders", "--on", "dev").lines == ["n", "2"]
    assert cli("sql", "-", "--json", given="select count(*) as n from sales.orders").json == [{"n": 3}]
    assert cli("sql", "select * from sales.none").code == 7
    assert spark.range(1).count() == 1, "a session that ran before goes on"
