"""Large components own a bit row with their topic's other subscribers, at once or after they had to wait."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from calls import crowds, examples
from meshwright import Interest
from meshwright.greedy import Tuning, rules
from meshwright.greedy.candidates import everything
from meshwright.greedy.kernels.bit_rows import give_held_rows
from meshwright.greedy.kernels.state import FREE_ROWS, HELD, HOLDING, State
from meshwright.greedy.level_run import LevelRun
from meshwright.greedy.path_choice import Task

EVERY_TOPIC = Tuning(heavy=0, large=2, index=0)


def linked(interest: Interest, max_edges: int, *, holding: bool) -> State:
    """Return the state of a run after some links; with `holding`, components had to wait for their rows."""
    run = LevelRun(Task(interest, rules.gm, everything, None, EVERY_TOPIC), None, max_edges=max_edges)
    run.state.tally[HOLDING] = holding
    run.finish()
    return run.state


def owners(state: State) -> dict[tuple[int, frozenset[int]], set[int] | None]:
    """Return the nodes in the bit row of each component of an open topic; None where it is the topic's."""
    members: dict[int, set[int]] = {}
    for entry, component in enumerate(state.node_label.tolist()):
        members.setdefault(component, set()).add(entry)
    found: dict[tuple[int, frozenset[int]], set[int] | None] = {}
    for entries in members.values():
        topic = int(state.node_topics[min(entries)])
        if state.components[topic] == 1:
            continue
        nodes = frozenset(int(state.node_ptr.searchsorted(entry, side="right")) - 1 for entry in entries)
        [row] = {int(state.node_row[entry]) for entry in entries}
        bits = {
            node for node in range(len(state.degree)) if int(state.bits[row, node // 64]) >> node % 64 & 1
        }
        found[topic, nodes] = None if row == state.topic_row[topic] else bits
    return found


@settings(max_examples=examples(40, 15))
@given(crowds(), st.integers(0, 30))
def test_a_component_that_waited_owns_the_row_it_would_own(interest: Interest, max_edges: int) -> None:
    """After `give_held_rows` each large component has a row, if there are enough: the others of its topic."""
    at_once = linked(interest, max_edges, holding=False)
    state = linked(interest, max_edges, holding=True)
    assert set(owners(state).values()) <= {None}
    waiting = int(state.tally[HELD])
    give_held_rows(state, False)
    assert state.tally[HELD] == state.tally[HOLDING] == 0
    assert owners(state).keys() == owners(at_once).keys()
    for (topic, nodes), row in owners(state).items():
        if row is not None:
            others = state.topic_nodes[state.topic_ptr[topic] : state.topic_ptr[topic + 1]]
            assert row == set(others.tolist()) - nodes
        elif len(nodes) > 1 and waiting < len(state.held):
            assert state.tally[FREE_ROWS] == 0
