"""Workload: draw users and brokers at random, or build them from measured traffic."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.files.atomic import check_target
from meshwright.progress import Progress, announce_phase

if TYPE_CHECKING:
    from meshwright.content import Workload
    from meshwright.content.densities import Approximation


@dataclass(frozen=True)
class Drawn:
    """What is drawn, by the parameters of `content.synthetic`; None: its defaults."""

    users: int | None = None
    brokers: int | None = None
    model: str | None = None
    length: float | None = None
    ratio: float | None = None
    capacity: float | None = None


@dataclass(frozen=True)
class Measured:
    """What completes measured traffic; None or False: not stated."""

    subscriptions: Path | None = None
    user_places: Path | None = None
    broker_places: Path | None = None
    core_weight: float | None = None
    cells: bool = False
    """Whether the content is cut along the subscriptions."""
    bytes: bool = False
    """Whether bytes per second count, not messages."""


@dataclass(frozen=True, eq=False)
class MadeUsers:
    """A workload, how well whole channels fit what users want, and its folder."""

    workload: Workload
    approximation: Approximation | None
    path: str

    def to_dict(self) -> dict[str, Any]:
        """Return the size, and the ratios of the approximation."""
        made, spare = self.workload, self.approximation
        return {
            "users": made.num_users,
            "brokers": made.num_brokers,
            "channels": made.num_channels,
            "subscriptions": len(made.subscription_channels),
            "silent_users": int((made.demand.outgoing == 0).sum()),
            "ratio": made.cost_ratio,
            "volume_ratio": None if spare is None else spare.volume_ratio,
            "traffic_ratio": None if spare is None else spare.traffic_ratio,
            "workload": self.path,
        }


def make_users(
    out: str | Path,
    drawn: Drawn,
    *,
    channels: int | None = None,
    traffic: Path | None = None,
    measured: Measured,
    seed: int = 0,
    progress: Progress | None = None,
) -> MadeUsers:
    """Write a workload: drawn at random, or with the rates of a folder of traffic."""
    from meshwright.store.content.workloads import write_workload

    check_target(out, "workload")
    if traffic is None:
        _refuse(measured, "these need --traffic: give it, or leave them out")
        announce_phase(progress, "drawing a workload")
        made, spare = _draw(drawn, channels, seed)
    else:
        _refuse(drawn, "--traffic already says who publishes what: leave them out")
        made, spare = _measure(traffic, channels, measured)
    write_workload(made, out)
    return MadeUsers(made, spare, str(out))


def _draw(drawn: Drawn, channels: int | None, seed: int) -> tuple[Workload, Approximation | None]:
    from meshwright.content import synthetic
    from meshwright.content.synthetic import synthetic_approximation

    given = {name: value for name, value in asdict(drawn).items() if value is not None}
    if "users" not in given:
        raise InputError("the number of users is missing: give --users, or --traffic for measured rates")
    if channels is not None:
        given["channels"] = channels
    shape = {name: given[name] for name in ("users", "channels", "length") if name in given}
    return synthetic(**given, seed=seed), synthetic_approximation(**shape, seed=seed)


def _measure(traffic: Path, channels: int | None, asked: Measured) -> tuple[Workload, Approximation | None]:
    """Build a workload from the rates of a traffic folder."""
    from meshwright.store.content.traffic_workloads import Sources, workload_from_traffic
    from meshwright.store.traffic import read_traffic

    if asked.subscriptions is None or asked.user_places is None or asked.broker_places is None:
        raise InputError("--traffic needs --subscriptions, --user-places and --broker-places: give all three")
    return workload_from_traffic(
        read_traffic(traffic),
        Sources(asked.subscriptions, asked.user_places, asked.broker_places),
        channels=channels,
        cells=asked.cells,
        figure="byte_rate" if asked.bytes else "rate",
        core_weight=1.0 if asked.core_weight is None else asked.core_weight,
    )


def _refuse(options: Drawn | Measured, why: str) -> None:
    """Raise an error if any of some options is given."""
    given = [
        f"--{name.replace('_', '-')}"
        for name, value in asdict(options).items()
        if value is not None and value is not False
    ]
    if given:
        raise InputError(f"{', '.join(given)}: {why}")
