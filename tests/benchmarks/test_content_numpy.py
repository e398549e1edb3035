"""The numpy versions of content-based assignment return what ours return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.competitors import content_numpy

from meshwright.content import cost, synthetic
from meshwright.content.sequential import clustering, packing, steiner


@pytest.mark.parametrize("model", ["uniform", "plane"])
@pytest.mark.parametrize("length", [None, 0.2])
def test_numpy_agrees(model: Any, length: float | None) -> None:
    """Both assign every user to the same broker, at the same cost."""
    workload = synthetic(300, 8, 12, model=model, length=length, seed=3)
    sent, taken = content_numpy.tables(workload)
    packed = packing(workload)
    assert np.array_equal(packed, content_numpy.packing(workload))
    assert np.array_equal(clustering(workload), content_numpy.clustering(workload, sent, taken))
    assert np.array_equal(steiner(workload, seed=2), content_numpy.steiner(workload, seed=2))
    plain = content_numpy.cost(workload, packed, sent, taken)
    assert plain == pytest.approx(cost(workload, packed).total)
