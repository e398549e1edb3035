"""Secrets in URLs: no command shows them, on stdout or stderr, and none stores them in a file."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright.cli.main import COMMANDS
from meshwright.errors import InputError, OutputError
from meshwright.formatting import (
    escape_html,
    escape_json,
    escape_markdown,
    escape_markdown_code,
    escape_terminal,
    hide_secrets,
)
from meshwright.pipeline.follow.folder import Checkpoint, choose_files, write_checkpoint
from meshwright.pipeline.readers.broker_names import log_files
from object_store import folder_as_store
from terminal import meshwright

KEY, SECRET = "AKIAEXAMPLEKEY", "wJalrXUtn/EXAMPLE+SECRET"
PLACE = f"s3://{KEY}:{SECRET.replace('/', '%2F')}@bucket/NAME?access_key={KEY}&secret_key={SECRET}&region=eu"
WORDS = (KEY, SECRET, "EXAMPLE", "wJal")


def url(name: str) -> str:
    return PLACE.replace("NAME", name)


HOSTILE = ("ftp://me:EXAMPLE@host/a.csv", "s3:me:EXAMPLE@b/a.csv", f"x://bucket/a?sig={SECRET}")
"""URLs that cannot be used: errors name them."""

LINES = {
    "ingest": [
        "s3/rows.csv --format csv --max-bad 1 --out s3/dataset", "s3/no.csv --format csv --out s3/dataset",
        "s3/rows.csv --format csv --node x --out d",
    ],
    "plan": [
        "s3/dataset --out s3/plan", "s3/dataset --out s3/plan --k 3", "s3/none --out d",
        "s3/dataset --out plan",
    ],
    "route": ["s3/plan s3/dataset", "s3/plan s3/none", "s3/none s3/dataset", "plan s3/dataset"],
    "verify": ["s3/plan s3/dataset", "s3/none s3/dataset"],
    "certify": ["s3/plan s3/dataset --seconds 1", "s3/none s3/dataset", "s3/plan s3/none"],
    "report": ["s3/plan s3/dataset", "s3/plan s3/dataset --out page.html", "s3/none s3/dataset"],
    "export": [
        "s3/plan --to json --out export.json", "s3/plan --to mosquitto --out s3/federation",
        "s3/none --to dot --out a.dot",
    ],
    "advise": ["s3/dataset --steps 0 --out s3/advised --chart chart.svg", "s3/none"],
    "compare": ["s3/dataset --algorithms gm,low --chart compare.svg", "s3/none"],
    "soc": ["s3/plan s3/dataset", "s3/none"],
    "churn": ["s3/plan s3/dataset --rounds 2 --out churn", "s3/plan s3/none --out churn"],
    "chaos": ["s3/plan s3/dataset", "s3/none s3/dataset"],
    "profile": ["s3/dataset", "s3/none"],
    "sample": ["s3/dataset --nodes 2 --out s3/sampled", "s3/dataset --nodes 2 --out sampled"],
    "traffic": [
        "s3/published.csv --format csv --out traffic", "s3/published.csv --format csv --out s3/traffic",
        "s3/none --out traffic",
    ],
    "follow": ["s3/none --out out --once", "rows --out s3/follow --once --start s3/none"],
    "workload": [
        "zipf --nodes 5 --topics 3 --out s3/workload",
        "zipf --nodes 5 --topics 3 --out workload --raw s3/raw",
    ],
    "init": ["s3/dataset", "--inventory s3/inventory.csv dataset"],
    "status": ["--project s3/project"],
    "federation": ["s3/plan", "s3/plan --out federation"],
    "lint": ["s3/mosquitto.conf"],
    "diff": ["s3/plan s3/plan", "s3/none s3/plan"],
    "apply": ["s3/plan s3/federation", "s3/plan federation"],
    "demo": ["--out s3/demo"],
    "doctor": ["s3/x"],
    "reproduce": ["podc07 --quick --out s3/x"],
    "bench": ["s3/x"],
    "content workload": ["--out s3/workload"],
    "content assign": ["s3/workload --out assignment"],
    "content compare": ["s3/workload"],
    "content exact": ["s3/workload"],
    "content migrate": ["s3/workload"],
}  # fmt: skip
"""Every command with URLs where it has places; `s3/NAME` stands for one with secrets."""


def leaked(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(word in line for word in WORDS)]


def test_no_command_shows_or_stores_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it succeeds or fails, with progress, as JSON and with --debug."""
    monkeypatch.chdir(tmp_path)
    folder_as_store(tmp_path / "store", monkeypatch)
    bucket = tmp_path / "store" / "bucket"
    rows = "node,topic\na,x\nb,x\nb,y\nc,y\n,z\n"
    (bucket / "rows.csv").write_text(rows)
    (bucket / "published.csv").write_text("publisher,topic,size,time\na,x,1,1\nb,y,1,2\n")
    for folder in ("dataset", "plan", "advised", "workload", "sampled"):
        for kind in ("nodes", "topics", "subscriptions", "quarantine"):
            (bucket / folder / kind).mkdir(parents=True)  # a store needs no folders, but a disk does
    assert {name.split()[0] for name in LINES} == {*COMMANDS, "content"}
    succeeded = set()
    for command, lines in LINES.items():
        for line in lines:
            words = [url(word[3:]) if word.startswith("s3/") else word for word in line.split()]
            for more in (["--debug"], ["--json"])[: 2 - (line is not lines[0])]:
                answer = meshwright(*command.split(), *words, *more)
                assert answer.code in (0, 1, 2), (command, line, answer)
                assert not leaked(answer.out + answer.err), (command, line)
                succeeded |= {command} if answer.code == 0 else set()
    assert succeeded >= {
        "ingest",
        "plan",
        "route",
        "verify",
        "report",
        "export",
        "advise",
        "compare",
        "sample",
    }
    for wrong in HOSTILE:
        for command in ("ingest", "plan"):
            assert "…" in meshwright(command, wrong, "--out", "d").complaint
            assert not leaked(meshwright(command, wrong, "--out", "d", "--debug").err)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 30
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".parquet":
            content = json.dumps(pq.read_table(file).to_pylist(), default=str).encode()
        assert not leaked(content.decode(errors="replace")), file
    stored = json.loads((bucket / "dataset" / "manifest.json").read_text())
    assert stored["sources"] == ["s3://…@bucket/rows.csv?access_key=…&secret_key=…&region=eu"]
    [aside] = pq.read_table(bucket / "dataset" / "quarantine").column("source").to_pylist()
    assert aside == stored["sources"][0]


def test_progress_of_long_work_has_no_secrets() -> None:
    """The lines of --progress pass the same way as all others."""
    from meshwright.cli.output import PROGRESS_WANTED, ProgressBar, amounts

    asked = PROGRESS_WANTED.set(True)
    bar = ProgressBar("", amounts("rows"))
    PROGRESS_WANTED.reset(asked)
    bar.began = bar.last_line = -100.0
    out = io.StringIO()
    with redirect_stderr(out), bar:
        bar(1, 0.5, f"reading {url('rows.csv')}")
    assert "reading s3://…@bucket/rows.csv" in out.getvalue()
    assert not leaked(out.getvalue())


def test_errors_of_the_library_have_no_secrets() -> None:
    """Python users see the same lines; also of errors that are builtins as well."""
    with pytest.raises(InputError) as raised:
        mw.load_interest(HOSTILE[0])
    assert not leaked(str(raised.value))
    assert str(OutputError(url("a"))) == "s3://…@bucket/a?access_key=…&secret_key=…&region=eu"
    for target in (escape_terminal, escape_json, escape_html, escape_markdown, escape_markdown_code):
        assert not leaked(target(url("a")))
    names = [url(f"{zone}/mosquitto.log") for zone in ("a/hub", "b/hub")]
    assert not leaked(json.dumps([log.broker for log in log_files(names)]))


@pytest.mark.parametrize("harmless", [
    "hdfs://host:8020/user/a@b.csv", "abfs://container@account.dfs.core.windows.net/x", "s3://b/a?region=eu",
    "http://feed/rss?id=4", "file:///tmp/a@b", "a:b@c", "s3://bucket/x:y@z", "spark://host:7077",
])  # fmt: skip
def test_other_texts_stay(harmless: str) -> None:
    """Ports, containers, names with @ and options that are no secrets are shown as they are."""
    assert hide_secrets(harmless) == harmless


@pytest.mark.parametrize("secret", [
    "sc://host:15002/;token=EXAMPLE;user_id=x", "https://a.blob.core.windows.net/c?sv=1&sig=EXAMPLE%3D",
    "s3://EXAMPLE@bucket", "mqtt://u:EXAMPLE@@host:1883/", "s3://K:wJal/EXAMPLE@b/x", "s3:/K:EXAMPLE@b",
    "gs://b/x?X-Goog-Signature=EXAMPLE", "'s3://b/x?session_token=EXAMPLE', 's3://K:EXAMPLE@c'",
])  # fmt: skip
def test_secrets_of_other_services_go(secret: str) -> None:
    """Whatever the scheme: users and passwords, signatures, tokens and keys."""
    assert "…" in hide_secrets(secret)
    assert not leaked(hide_secrets(secret))


def test_a_long_text_takes_no_long_time() -> None:
    """The search for secrets is linear: names of topics may be long, and hostile."""
    for hostile in ("a:/b:" * 10**5, "s3:/" + "a:" * 10**5, "?" + "akey" * 10**5):
        assert hide_secrets(hostile) == hostile


def test_follow_lists_files_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has seen is listed without secrets: with other keys, no file is read twice."""
    folder_as_store(tmp_path / "store", monkeypatch)
    (tmp_path / "store" / "bucket" / "in").mkdir()
    (tmp_path / "store" / "bucket" / "in" / "a.csv").write_text("node,topic\na,x\n")
    place, reached = str(tmp_path / "out"), Checkpoint(0, set())
    [file] = choose_files(None, url("in"), place, reached, None)  # type: ignore[arg-type]
    assert KEY in file.path
    other = "s3://OTHER:EXAMPLE@bucket/in?access_key=OTHER&secret_key=EXAMPLE&region=eu"
    [again] = choose_files(None, other, place, reached, None)  # type: ignore[arg-type]
    assert again.path.startswith("s3://OTHER")
    reached.seen.add(hide_secrets(file.path))
    write_checkpoint(place, reached)
    assert choose_files(None, other, place, Checkpoint(1, reached.seen), None) == []  # type: ignore[arg-type]
    assert not leaked("".join(file.read_text() for file in (tmp_path / "out").rglob("*.json")))
