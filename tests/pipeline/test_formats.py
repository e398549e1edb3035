"""Options of readers: wrong ones are refused in one line, and the manifest keeps those that matter."""

from __future__ import annotations

from typing import Any

import pytest

from meshwright.errors import InputError
from meshwright.pipeline.readers.formats import Publications, Reading, common_format
from meshwright.pipeline.readers.sources import SourceFile


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"format": "xml"}, "no format 'xml': choose one of csv"),
        ({"format": "csv", "delimiter": "ab"}, "delimiter 'ab' is not one character"),
        ({"format": "csv", "delimiter": ""}, "delimiter '' is not one character"),
        ({"format": "csv", "delimiter": '"'}, "is not one character"),
        ({"format": "edges", "quoted_newlines": True}, "--quoted-newlines applies to csv only"),
        ({"format": "csv", "both_ways": True}, "--both-ways applies to edges only"),
        ({"format": "mosquitto-log", "node_from": "both"}, "--node-from 'both': choose broker or client"),
        ({"format": "csv", "node_from": "client"}, "--node-from applies to broker logs only"),
        ({"format": "csv", "bridges": "("}, r"--bridges '\(' is not a regular expression: missing \)"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], complaint: str) -> None:
    """Each wrong option has its own complaint."""
    with pytest.raises(InputError, match=complaint):
        Reading(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"format": "csv", "delimiter": ";", "quoted_newlines": True},
        {"format": "edges", "both_ways": True},
        {"format": "emqx", "node_from": "client", "bridges": "^b"},
        {"format": "table"},
    ],
)
def test_the_manifest_keeps_what_differs(options: dict[str, Any]) -> None:
    """Options that fit are kept, and only they."""
    assert Reading(**options).described() == options


def test_the_format_of_several_files() -> None:
    """Files have one format, by their extensions; unknown and different ones are refused."""

    def format_of(*names: str) -> str:
        return common_format([SourceFile(name, 1, "") for name in names])

    assert format_of("a.csv", "b.tsv.gz", "C.CSV") == "csv"
    assert format_of("a.parquet") == "parquet"
    with pytest.raises(InputError, match=r"the files have several formats \(csv, parquet\): ingest each"):
        format_of("b.parquet", "a.csv")
    with pytest.raises(
        InputError, match=r"the format of 'a\.what' cannot be derived from the name: give --format"
    ):
        format_of("a.what", "a.csv")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"channels": 0}, "0 channels are too few: give at least one"),
        ({"low": 1.0}, "the content space from 1.0 to 1.0 is empty: give low < high"),
        ({"low": 2.0}, "the content space from 2.0 to 1.0 is empty: give low < high"),
        ({"seconds": 0.0}, "a log cannot take 0.0 s: give a time above zero"),
        ({"seconds": float("nan")}, "a log cannot take nan s"),
        ({"format": "xml"}, "publish logs cannot have the format xml: choose csv, jsonl or parquet"),
    ],
)
def test_wrong_publish_logs_are_refused(options: dict[str, Any], complaint: str) -> None:
    """A log needs a channel, a content space and a length."""
    with pytest.raises(InputError, match=complaint):
        Publications(**options)
    assert Publications(channels=1, low=0.5, seconds=0.1).channels == 1
