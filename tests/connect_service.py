"""A real Spark Connect service on loopback, as a separate process in another folder and time zone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from meshwright.pipeline.session.java import java_home
from standalone import Worker, wait


@contextmanager
def service(folder: Path, master: str = "local[2]") -> Iterator[str]:
    """Run a service as `start-connect-server.sh` does, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": sys.executable,
        "TZ": "America/New_York",
    }
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 3,
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    log = folder / "service.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [home / "bin" / "spark-submit", "--master", master, *words, "--class", name, "spark-internal"],
            cwd=folder,
            env=environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    running = Worker(process, folder)
    try:
        wait(lambda: "server started at" in log.read_text(errors="replace") or process.poll() is not None)
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        yield f"sc://127.0.0.1:{port}"
    finally:
        running.kill()
