"""What prices prove: compared with a slow twin, with the optimum, and with what `bounds` certifies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from calls import crowds, examples, seeds
from meshwright import Interest, bounds
from meshwright.bounds.prices import SCALE as SCALE_OF_MAKERS
from meshwright.errors import InputError
from meshwright.verify import CertificateError, certificate, check_price_table, check_prices, gap
from meshwright.verify.certificate import SCALE
from optima import optima
from strategies import interests, wild_interests

TRIO = Interest.from_dict({"a": {"x"}, "b": {"x"}, "c": {"x"}})


def some_prices(interest: Interest, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return any prices: small or large, with zeros, ones and equals among them."""
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = random.random(interest.num_subscriptions) ** random.integers(1, 6)
    drawn[random.random(len(drawn)) < 0.1] = 0.0
    drawn[random.random(len(drawn)) < 0.1] = 1.0
    return (drawn * SCALE / random.integers(1, 4)).astype(np.int64)


def table_of(interest: Interest, prices: Any) -> pa.Table:
    """Return prices by name, as a plan keeps them."""
    names = interest.to_arrow()
    columns = [
        names.column("node").cast(pa.string()),
        names.column("topic").cast(pa.string()),
        pa.array(prices),
    ]
    return pa.table(columns, names=["node", "topic", "price"])


@settings(max_examples=examples(60, 15))
@given(crowds(nodes=(1, 30), subscriptions=120), seeds, st.sampled_from([1, 20, 50, 10_000]))
def test_it_agrees_with_its_twin(interest: Interest, seed: int, at_once: int) -> None:
    """The bound is that of plain Python, however few rows of loads are held together."""
    prices = some_prices(interest, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "LOADS_AT_ONCE", at_once)
        assert check_prices(interest, prices) == naive.proven_links(interest, prices.tolist(), SCALE)


@settings(max_examples=examples(80, 20))
@given(interests(most_nodes=5, most_topics=4), seeds)
def test_no_prices_prove_too_much(interest: Interest, seed: int) -> None:
    """Whatever the prices are, the bound is at most the fewest links of all sets of links."""
    assert check_prices(interest, some_prices(interest, seed)) <= optima(interest)[0]


def test_the_makers_of_prices_have_the_same_unit() -> None:
    """Prices are made and checked in units of 1/2³⁰, by two constants that must not drift apart."""
    assert SCALE_OF_MAKERS == SCALE == 2**30


@settings(max_examples=examples(40, 8))
@given(crowds(nodes=(1, 30), subscriptions=120), st.sampled_from(bounds.EFFORTS))
def test_what_is_certified_is_proven(interest: Interest, effort: str) -> None:
    """The bound that comes with prices is the one that the check finds, by position and by name."""
    made = bounds.prices(interest, effort=effort)
    assert check_prices(interest, made.scaled) == made.bound
    assert check_price_table(interest, table_of(interest, made.scaled)) == made.bound


@settings(max_examples=examples(40, 8))
@given(crowds(nodes=(2, 30), subscriptions=120), seeds)
def test_tampered_prices_prove_what_they_prove(interest: Interest, seed: int) -> None:
    """Prices changed in some places prove what the twin says of them, not what was certified before."""
    prices, random = bounds.prices(interest).scaled.copy(), np.random.default_rng(seed)
    chosen = random.random(len(prices)) < 0.3
    prices[chosen] = random.integers(0, SCALE + 1, int(chosen.sum()))
    proven = naive.proven_links(interest, prices.tolist(), SCALE)
    assert check_price_table(interest, table_of(interest, prices)) == proven


def test_less_than_certified_is_seen() -> None:
    """Prices of half the size prove less, and prices of 0 prove nothing."""
    interest = Interest.from_dict({name: {"x"} for name in "abcdefgh"})
    made = bounds.prices(interest)
    assert made.bound > 1
    assert check_prices(interest, made.scaled // 2) < made.bound
    assert check_prices(interest, made.scaled * 0) == 0


@pytest.mark.parametrize(("price", "needed"), [(SCALE, 1), (1, 1), (0, 0)])
def test_the_bound_is_rounded_up(price: int, needed: int) -> None:
    """Links are whole: whatever is asked for beyond 0, even 2⁻³⁰, takes a link."""
    pair = Interest.from_dict({"a": {"x"}, "b": {"x"}})
    assert check_prices(pair, np.array([price, price])) == needed


def test_what_pairs_carry_beyond_one_is_paid_for() -> None:
    """Two topics that one link joins ask for two, and the pair carries two: one link is proven, not two."""
    twins = Interest.from_dict({"a": {"x", "y"}, "b": {"x", "y"}})
    assert check_prices(twins, np.full(4, SCALE)) == 1


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        (np.zeros(2, dtype=np.int64), r"shape \(2,\) for 3 subscriptions"),
        (np.zeros((3, 1), dtype=np.int64), r"shape \(3, 1\) for 3 subscriptions"),
        (np.zeros(3), "type float64: give integers"),
        (np.zeros(3, dtype=bool), "type bool: give integers"),
        (np.array([0, -1, 0]), "prices -1 are out of range"),
        (np.array([0, 0, SCALE + 1]), f"prices {SCALE + 1} are out of range"),
    ],
)
def test_bad_prices_are_rejected(prices: np.ndarray[Any, Any], message: str) -> None:
    """Prices of another number, type or range are rejected in one line, as bad input."""
    with pytest.raises(CertificateError, match=message) as caught:
        check_prices(TRIO, prices)
    assert isinstance(caught.value, InputError)


def test_prices_from_zero_to_one_are_taken() -> None:
    """Both ends of the range are prices, and unsigned integers are as good as signed ones."""
    assert check_prices(TRIO, np.array([0, 0, SCALE])) == 1
    assert check_prices(TRIO, np.array([SCALE, 0, SCALE], dtype=np.uint64)) == 2


@settings(max_examples=20)
@given(wild_interests, seeds)
def test_the_order_of_rows_does_not_matter(interest: Interest, seed: int) -> None:
    """A table proves the same in whatever order its rows are, whatever the names."""
    prices = some_prices(interest, seed)
    table = table_of(interest, prices)
    shuffled = table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))
    assert check_price_table(interest, shuffled) == check_prices(interest, prices)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "x", 1), ("b", "x", 1)], "one price for each subscription"),
        ([("a", "x", 1), ("b", "x", 1), ("b", "x", 1)], "one price for each subscription"),
        ([("a", "x", 1), ("b", "x", 1), ("c", "x", 1), ("c", "x", 1)], "one price for each subscription"),
        ([("a", "x", 1), ("b", "x", 1), ("z", "x", 1)], "unknown nodes or topics"),
        ([("a", "x", 1), ("b", "x", 1), ("c", "z", 1)], "unknown nodes or topics"),
        ([("a", "x", 1), ("b", "x", 1), ("c", "x", -1)], "out of range"),
    ],
)
def test_tables_that_do_not_fit_are_rejected(rows: list[tuple[str, str, int]], message: str) -> None:
    """A table must have one price for each subscription, and for nothing else."""
    table = pa.table(
        [pa.array(column) for column in zip(*rows, strict=True)], names=["node", "topic", "price"]
    )
    with pytest.raises(CertificateError, match=message):
        check_price_table(TRIO, table)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_both_gaps_are_the_same(edges: int, needed: int) -> None:
    """The gap that plans state is the one that verification finds."""
    assert bounds.gap(edges, needed) == gap(edges, needed)


def test_the_gap_is_relative_to_what_is_needed() -> None:
    """Ten links where eight are needed are a quarter too many; without a bound, nothing is known of links."""
    assert (gap(10, 8), gap(8, 8), gap(1, 1), gap(0, 0), gap(1, 0)) == (0.25, 0.0, 0.0, 0.0, None)


@given(crowds(nodes=(1, 30), subscriptions=120), st.sampled_from([1, 40, 10_000]))
def test_few_loads_are_held_together(interest: Interest, at_once: int) -> None:
    """Memory is bounded: no step holds more loads than it may, or than one row has."""
    shapes: list[tuple[int, int]] = []

    def zeros(shape: tuple[int, int], **given: Any) -> Any:
        shapes.append(shape)
        return np.full(shape, 0, **given)

    prices = some_prices(interest, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "LOADS_AT_ONCE", at_once)
        patch.setattr("meshwright.verify.certificate.np.zeros", zeros)
        check_prices(interest, prices)
    assert sum(rows for rows, _ in shapes) == interest.num_nodes
    assert max(rows * columns for rows, columns in shapes) <= max(at_once, interest.num_nodes)
