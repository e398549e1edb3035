"""What prices prove: the check of it against a slow twin, and against the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest
from meshwright.errors import InputError
from meshwright.measure import check_prices
from meshwright.verify import certificate
from meshwright.verify.certificate import SCALE
from optima import optima
from strategies import interests


def some_prices(interest: Interest, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return any prices: small or large, with zeros, ones and equals among them."""
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = random.random(interest.num_subscriptions) ** random.integers(1, 6)
    drawn[random.random(len(drawn)) < 0.1] = 0.0
    drawn[random.random(len(drawn)) < 0.1] = 1.0
    return (drawn * SCALE / random.integers(1, 4)).astype(np.int64)


@settings(max_examples=examples(200, 20))
@given(crowds(nodes=(1, 30), subscriptions=120), seeds, st.sampled_from([1, 20, 50, 10_000]))
def test_it_agrees_with_its_twin(interest: Interest, seed: int, at_once: int) -> None:
    """The bound is that of plain Python, however few rows of loads are held together."""
    prices = some_prices(interest, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "LOADS_AT_ONCE", at_once)
        assert check_prices(interest, prices) == naive.proven_links(interest, prices.tolist(), SCALE)


@settings(max_examples=examples(400, 40), deadline=None)
@given(interests(most_nodes=5, most_topics=4), seeds)
def test_no_prices_prove_too_much(interest: Interest, seed: int) -> None:
    """Whatever the prices are, the bound is at most the fewest links of all sets of links."""
    assert check_prices(interest, some_prices(interest, seed)) <= optima(interest)[0]


@pytest.mark.parametrize(
    ("prices", "told"),
    [
        (np.zeros(2, dtype=np.int64), "for 3 subscriptions"),
        (np.zeros((3, 1), dtype=np.int64), "for 3 subscriptions"),
        (np.zeros(3), "give integers"),
        (np.array([0, -1, 0]), "-1"),
        (np.array([0, 0, SCALE + 1]), str(SCALE + 1)),
    ],
)
def test_what_is_no_price_is_refused(prices: np.ndarray[Any, Any], told: str) -> None:
    """Prices of another number, kind or range are refused in one line."""
    interest = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})
    with pytest.raises(InputError, match=told):
        check_prices(interest, prices)
