"""The records form beside the model, under random changes."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from lakebed.metastore.records.form import RecordsMetastore
from lakebed.store import MemoryStore
from lakebed.testing.metastore.machine import MetastoreMachine
from tests.support.examples import examples


class RecordsMachine(MetastoreMachine):
    def make(self):
        return RecordsMetastore(MemoryStore())


def test_the_records_form_does_as_the_model_whatever_happens():
    """Law 5 too: older versions are looked at again after later commits."""
    tries = examples(15, 100)
    bounds = settings(max_examples=tries, stateful_step_count=30, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(RecordsMachine, settings=bounds)
