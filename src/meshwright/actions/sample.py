"""Sample: take a part of a large dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from meshwright.actions.spark import SparkOptions
from meshwright.errors import EmptySourceError
from meshwright.files.atomic import check_target
from meshwright.formatting import counted

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.pipeline.dataset.sample import Sample
    from meshwright.progress import Progress


@dataclass(frozen=True, eq=False)
class Sampled:
    """A sample, and the dataset that it was written to."""

    sample: Sample
    dataset: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the size of the sample, and how it was found."""
        made, interest = self.sample, self.sample.interest
        counts = {"nodes": interest.num_nodes, "topics": interest.num_topics}
        found = {"seeds": made.seeds, "levels": made.levels, "by": made.by}
        return {**counts, "subscriptions": interest.num_subscriptions, **found, "dataset": self.dataset}


def sample_source(
    source: str,
    out: str,
    nodes: int,
    columns: FileColumns | None = None,
    *,
    start: Sequence[str] = (),
    by: str | None = None,
    seed: int = 0,
    spark: SparkOptions | None = None,
    progress: Progress | None = None,
) -> Sampled:
    """Write a sample of a dataset or file: a breadth-first search from `start`, or from random seeds.

    See `pipeline.dataset.sample.sample` for the parameters.

    Raises
    ------
    EmptySourceError
        If the source has no subscriptions.
    """
    from meshwright.names import guess_topic_kind
    from meshwright.pipeline.dataset.sample import sample
    from meshwright.pipeline.dataset.subscriptions import fits_here, subscriptions
    from meshwright.pipeline.session.jobs import report_stages
    from meshwright.store.datasets import read_topic_kind, write_dataset

    check_target(out, "dataset")
    session = (spark or SparkOptions()).open_unless(fits_here(source), progress)
    given = subscriptions(session, source, None if columns is None else columns.resolved())
    if not given.count:
        raise EmptySourceError(source)
    with report_stages(session, "sampling", progress, amount=given.count):
        made = sample(given, nodes, start=start, by=by, seed=seed)
    made_by = {"command": "sample", "nodes": nodes, "by": made.by, "from": made.seeds, "seed": seed}
    topic_kind = read_topic_kind(source) or guess_topic_kind(made.interest.topic_names)
    write_dataset(made.interest, out, sources=[source], made_by=made_by, topic_kind=topic_kind)
    return Sampled(made, str(out), _explain_missing(made, nodes, given=bool(start)))


def _explain_missing(made: Sample, asked: int, *, given: bool) -> tuple[str, ...]:
    """Say why a sample has fewer brokers than were asked for, if it has; `given` says that the seeds were.

    A search along who follows whom also takes users who follow nobody; they have no subscription, so they
    are topics of the sample and no brokers.
    """
    found = made.interest.num_nodes
    reasons = []
    if made.silent:
        are = (
            "subscribes to nothing and is a topic"
            if made.silent == 1
            else "subscribe to nothing and are topics"
        )
        reasons.append(f"{made.silent:,} of those found {are} only")
    if found + made.silent < asked:
        reasons.append("the search from --from reaches no more" if given else "there are no more")
    return (f"{found:,} of {counted(asked, 'broker')}: {', and '.join(reasons)}",) if reasons else ()
