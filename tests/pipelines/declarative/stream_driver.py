"""A process that runs a project, and dies by a signal when a batch is about to be committed, or was."""

import os
import signal
import sys
from typing import Any

import lakebed
import lakebed.spark
from lakebed import pipelines as lp
from lakebed.pipelines.running.flows import FlowsOfStep


def main(project: str, folder: str, batch: str, moment: str) -> None:
    """Run the project; die at the first batch with this number."""
    commit = FlowsOfStep._commit

    def dying(self: Any, flow: Any, rows: Any, found: Any, *rest: Any) -> None:
        is_last = found.number == int(batch)
        if is_last and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        commit(self, flow, rows, found, *rest)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)

    FlowsOfStep._commit = dying  # type: ignore[method-assign]
    with lakebed.connect(folder) as lake:
        spark = lakebed.spark.session()
        lp.spark_pipeline(project, lake, spark).run(lake, spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
