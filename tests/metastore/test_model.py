"""The model passes the suite that it is the oracle of."""

import pytest

from lakebed.testing.metastore import MetastoreSuite
from lakebed.testing.metastore.model import ModelMetastore

pytestmark = pytest.mark.sampled(3)


class TestModelMetastore(MetastoreSuite):
    @pytest.fixture
    def metastore(self):
        return ModelMetastore()
