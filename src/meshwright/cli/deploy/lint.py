"""`meshwright lint`: find what storms, duplicates or does not work in existing configurations."""

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import InventoryFile, Json

EXAMPLES = (
    "meshwright lint /etc/mosquitto/mosquitto.conf",
    "meshwright lint berlin.conf oslo.conf malmo/ --json",
    "meshwright lint federation --dataset today",
)


def lint(
    configurations: Annotated[
        list[Path],
        typer.Argument(metavar="CONF…", help="Configurations of Mosquitto, or folders with some."),
    ],
    *,
    inventory: InventoryFile = None,
    dataset: Annotated[
        Path | None,
        typer.Option(
            "--dataset", metavar="DIR", help="Write what the bridges carry as a dataset, to plan from it."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Read existing Mosquitto configurations and report loops, duplicates, dead bridges and open listeners.

    Bridges are followed by address and port to the other configurations; a folder that meshwright exported
    knows the addresses of its brokers. Every finding names file, line and a way to fix it. The exit code is
    1 if messages can circle or arrive twice.
    """
    from meshwright.actions.outputs import check_target
    from meshwright.cli import output
    from meshwright.cli.exit_codes import ANSWER_IS_NO
    from meshwright.deploy.inventory import read_inventory
    from meshwright.deploy.manifest import exported_addresses
    from meshwright.deploy.targets.mosquitto.lint import DUPLICATE, STORM
    from meshwright.deploy.targets.mosquitto.lint import lint as find_faults
    from meshwright.deploy.targets.mosquitto.network import Network
    from meshwright.deploy.targets.mosquitto.parse import read_configurations
    from meshwright.formatting import counted
    from meshwright.interest import Interest
    from meshwright.names import MQTT
    from meshwright.store.datasets import write_dataset

    if dataset is not None:
        check_target(dataset, "dataset")
    hosts = exported_addresses(configurations)
    if inventory is not None:
        endpoints = read_inventory(inventory).endpoints
        hosts |= {broker: (endpoint.host.lower(), endpoint.port) for broker, endpoint in endpoints.items()}
    network = Network(read_configurations(configurations), hosts)
    findings = find_faults(network)
    if dataset is not None:
        pairs = sorted(set(network.wanted()))
        interest = Interest.from_pairs(
            [broker for broker, _ in pairs],
            [held for _, held in pairs],
            all_nodes=[broker.name for broker in network.brokers],
            kind=MQTT,
        )
        sources = sorted(str(path) for path in configurations)
        write_dataset(interest, dataset, sources=sources, made_by={"command": "lint"})
    counts = {"brokers": len(network.brokers), "bridges": sum(len(one.bridges) for one in network.brokers)}
    if json:
        listed = [finding.to_dict() for finding in findings]
        output.answer_json({**counts, "findings": listed, "dataset": dataset and str(dataset)})
    else:
        output.answer(
            *map(str, findings),
            f"{counted(counts['brokers'], 'broker')}, {counted(counts['bridges'], 'bridge')}: "
            + (counted(len(findings), "finding") if findings else "nothing found"),
            *([] if dataset is None else [f"what the bridges carry is written to {dataset}"]),
        )
    if any(finding.severity in (STORM, DUPLICATE) for finding in findings):
        raise typer.Exit(ANSWER_IS_NO)
