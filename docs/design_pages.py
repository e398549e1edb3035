"""The page of each design on the site: picture, guarantee, complexity and when to use it."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.designs.registry import DESIGNS


class Advice(NamedTuple):
    """What the registry does not know of a design."""

    how: str
    """How it chooses links, in one or two sentences."""
    cost: str
    """Its complexity."""
    use: str
    """When to use it."""
    avoid: str
    """When to use another one, and which."""
    options: str = ""
    """What its example needs besides the algorithm."""


GREEDY_COST = (
    "O(|V|²·|T|) as published. Here, contributions are counted row by row for the pairs that may come next: "
    "memory grows with the subscriptions, not with the pairs, and time grew as |V|^1.5 from 10,000 "
    "to 100,000 "
    "brokers (table *Growth* of the benchmark results)"
)
STAR_COST = "O(|V|²·|T|) as published; here a hub costs O(|T(v)|·|V|/64), as sets of brokers are bit rows"

PAGES = {
    "gm": Advice(
        "Take the pair of brokers that joins the most topics, again and again, until nothing is left "
        "to join.",
        GREEDY_COST,
        "You want few links and no broker is short of connections. It is the default.",
        "One broker must not have hundreds of links: take `low`, or `best` if you can wait.",
    ),
    "minmax": Advice(
        "As `gm`, but among the links that keep the maximum degree; the degree rises only if nothing "
        "else joins.",
        GREEDY_COST + "; 1.3 to 2.4 times the time of GM",
        "Every broker has few connections to spare, and links in total matter less.",
        "The number of links matters too: take `low`.",
    ),
    "low": Advice(
        "Take the best link that keeps the maximum degree if it joins at least 1/k of what the best "
        "link joins; "
        "otherwise take the best link.",
        GREEDY_COST + "; 1.1 to 2.3 times the time of GM",
        "You want few links and a low maximum degree at once: the safe choice for production.",
        "Seconds do not matter and links do: take `best`.",
    ),
    "gpa": Advice(
        "As `gm`, but stop at a number of links.",
        GREEDY_COST + "; it stops early",
        "There is a budget of links in total, and connecting most subscribers is good enough.",
        "The limit is per broker: take `gpm`.",
        "--max-edges 20",
    ),
    "gpm": Advice(
        "As `minmax`, but a broker that has d links gets no more.",
        GREEDY_COST + "; it stops early",
        "Brokers cannot have more than a number of links, and connecting most subscribers is good enough.",
        "Every topic must be connected: ask `advise --max-degree D` whether that is possible.",
        "--max-degree 2",
    ),
    "ring": Advice(
        "Join the subscribers of each topic in a ring, in the order of their names.",
        "O(Σ|T(v)|)",
        "As the baseline that other designs are compared with.",
        "Nearly always: it takes several times the links of the others.",
    ),
    "cd": Advice(
        "Link the broker with the highest score to all that share an open topic with it, close its topics, "
        "and go on. The score is the number of its neighbours, with `--variant weight` the topics "
        "that they share with it, and with `--variant density` how many each shares on average.",
        STAR_COST + "; by weight O(Σ|T(v)|) in all, and O(|V|/64) for each hub and topic",
        "Messages may take two hops at most, and a hub may have very many links; by density for the fewest "
        "links, by weight for the shortest run.",
        "Hubs are a risk: take `cdmax`.",
    ),
    "cdmax": Advice(
        "Each topic gets the hub that raises the maximum degree least; with k above 2, large topics "
        "get several.",
        "O(Σ|T(v)|²) for each of five passes",
        "Two hops at most, and no broker should carry everything.",
        "Hops do not matter: `low` takes far fewer links.",
    ),
    "spidercast": Advice(
        "Every broker picks neighbours by itself until each of its topics is covered several times: "
        "first those "
        "that cover the most, then random ones.",
        "O(|V|/64) for each of a broker's topics, as often as its best gain falls; O(|T(v)|) for each pick",
        "To see what brokers achieve without a central plan.",
        "Topics must be connected for certain: it only makes that likely.",
    ),
    "spidercastm": Advice(
        "As `spidercast`, but a broker that has d links gets no more.",
        "As `spidercast`",
        "As the baseline for `gpm` without a central plan.",
        "You can plan centrally: `gpm` connects more within the same limit.",
        "--max-degree 2",
    ),
    "randoma": Advice(
        "Add links at random, each of which joins something, up to a number of links.",
        "O(log |T|) for each link, and one comparison of two topic lists for each pair that is drawn",
        "As the baseline for `gpa`.",
        "For brokers: `gpa` connects more with as many links.",
        "--max-edges 20",
    ),
    "randomm": Advice(
        "Add links at random, each of which joins something, and none to a broker that has d links.",
        "As `randoma`, and O(|T(v)|·log |T|) for each broker that becomes full",
        "As the baseline for `gpm`.",
        "For brokers: `gpm` connects more within the same limit.",
        "--max-degree 2",
    ),
    "resilient": Advice(
        "Count a link for each topic that it joins and for each end with fewer than two links in "
        "that topic; then "
        "repair the remaining cuts, and remove links that no topic needs.",
        "O(Σ_t n_t²) for each of two runs, where n_t is the number of subscribers of topic t",
        "A topic must survive the failure of any single broker without a repair.",
        "Repair within milliseconds is enough: keep `low` and use `churn`.",
    ),
    "best": Advice(
        "Start from a greedy design or from the prices of the lower bound, remove what no topic "
        "needs, then remove "
        "a few links at a time and rejoin the fragments with fewer.",
        "As long as you allow: `--seconds`, or `--steps` for the same plan on every machine",
        "The plan will run for weeks: a minute of search saves links and lowers the maximum degree.",
        "You plan every few seconds: take `low`.",
        "--steps 2000",
    ),
    "exact": Advice(
        "Solve the integer program by cuts and branching (HiGHS), and prove the optimum.",
        "Exponential at worst: a dozen brokers, or a few dozen if they share little",
        "To know the optimum of a small federation, or to check how good another design is.",
        "More than a few dozen brokers: take `best` with `--certify`.",
        "--time-limit 20",
    ),
}
"""Every design of the registry."""


def page(name: str) -> str:
    """Return the page of a design."""
    known, own = DESIGNS[name], PAGES[name]
    parameters = [
        f"- `{key}`{' (required)' if key in known.required else ''}: {meaning}"
        for key, meaning in known.parameters.items()
    ]
    options = f" {own.options}" if own.options else ""
    title = known.title[0].upper() + known.title[1:]
    return "\n".join(
        [
            f"# {title}",
            "",
            own.how,
            "",
            f"![The links that {known.title} chooses for 16 brokers](../pictures/design-{name}.png)",
            "",
            "The same 16 brokers are on every page; one topic and the links inside it are orange.",
            "",
            "| | |",
            "| --- | --- |",
            f"| **Guarantee** | {known.guarantee.replace('|', chr(92) + '|')} |",
            f"| **Complexity** | {own.cost.replace('|', chr(92) + '|')} |",
            f"| **Use it when** | {own.use} |",
            f"| **Take another when** | {own.avoid} |",
            f"| **Source** | {known.reference} |",
            "",
            "```sh",
            f"meshwright plan subscriptions.csv --algorithm {name}{options} --out plan",
            "```",
            "",
            *(["Parameters:", "", *parameters, ""] if parameters else []),
            "[All designs side by side](../algorithms.md)",
            "",
        ]
    )
