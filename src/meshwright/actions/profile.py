"""Profile: the sizes, the popularity and the overlap of one or more datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.actions.spark import SparkOptions
from meshwright.errors import EmptySourceError

if TYPE_CHECKING:
    from meshwright.actions.sources import FileColumns
    from meshwright.pipeline.dataset.profile import Profile
    from meshwright.progress import Progress


@dataclass(frozen=True, eq=False)
class Profiles:
    """The profile of each source, and the chart of them."""

    profiles: Mapping[str, Profile]
    chart: Path | None = None

    @property
    def hot_topics(self) -> list[str]:
        """A line for people about the most popular topics of each source."""
        lines = []
        for name, made in self.profiles.items():
            hottest = ", ".join(f"{topic} ({count:,})" for topic, count in made.hot[:5])
            lines.append(f"hot topics of {name}: {hottest}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return all profiles, and where the chart is."""
        described = [{"source": name, **made.described()} for name, made in self.profiles.items()]
        return {"profiles": described, "chart": self.chart and str(self.chart)}


def profile_sources(
    sources: Sequence[str],
    columns: FileColumns | None = None,
    *,
    chart: Path | None = None,
    seed: int = 0,
    spark: SparkOptions | None = None,
    progress: Progress | None = None,
) -> Profiles:
    """Profile datasets or files, here if all are small, and draw their distributions if a chart is named.

    Raises
    ------
    EmptySourceError
        If a source has no subscriptions.
    """
    from meshwright.pipeline.dataset.profile import profile
    from meshwright.pipeline.dataset.subscriptions import fits_here, subscriptions
    from meshwright.pipeline.session.jobs import report_stages
    from meshwright.report.charts import ccdf_chart
    from meshwright.report.sheet import check_chart

    if chart is not None:
        check_chart(chart)
    small = [fits_here(source) for source in sources]  # a wrong path is an error before Java starts
    session = (spark or SparkOptions()).open_unless(all(small), progress)
    made = {}
    for source in sources:
        given = subscriptions(session, source, None if columns is None else columns.resolved())
        if not given.count:
            raise EmptySourceError(source)
        with report_stages(session, f"profiling {source}", progress, amount=given.count):
            made[source] = profile(given, seed=seed)
    if chart is not None:
        sizes = {name: (each.sizes.values, each.sizes.ccdf) for name, each in made.items()}
        popularity = {name: (each.popularity.values, each.popularity.ccdf) for name, each in made.items()}
        panels = {"Sizes of interests": sizes, "Popularity of topics": popularity}
        ccdf_chart(panels, ["topics per broker", "brokers per topic"], chart)
    return Profiles(made, chart)
