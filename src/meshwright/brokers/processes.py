"""Brokers on this machine: processes that are always stopped. Each kind of broker has a file here."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from meshwright.brokers.watchdog import Watchdog
from meshwright.errors import InputError
from meshwright.files.real_folder import change_owner

LOG = "broker.log"
"""The log file in a broker's folder."""
LAST_WORDS = 65_536
"""Bytes at the end of a log in which we look for the reason why a broker ended."""
PATIENCE = 10.0
"""Seconds that a broker has to start listening, or to stop, before we give up on it or kill it."""
PAUSE = 0.05
"""Seconds between two attempts to connect to a broker that starts."""


@dataclass(frozen=True)
class BrokerKind:
    """How brokers of one kind are found and started."""

    product: str
    """The name for people."""
    find: Callable[[], str]
    """Returns the path of the program, or raises a MissingDependencyError."""
    version: Callable[[], str]
    """Returns the version of the installed program, as settings name it."""
    command: str
    """How it is started in a broker's folder: the name of the program, and its arguments."""
    user: str
    """The user that it becomes when root starts it: its folder must belong to that user."""


def free_ports(count: int) -> list[int]:
    """Return different loopback ports that nothing listens on.

    >>> len(set(free_ports(3)))
    3
    """
    with ExitStack() as stack:
        # All sockets stay bound until the last has its port, so that no port is returned twice.
        servers = [stack.enter_context(socket.socket()) for _ in range(count)]
        for server in servers:
            server.bind(("127.0.0.1", 0))
        return [server.getsockname()[1] for server in servers]


def read_log(file: Path, since: int = 0) -> bytes:
    """Return what a broker has written to its log after a position; a link is not followed.

    A negative position counts from the end. Raises an OSError if the log is a link, a pipe or a device.
    """
    with open(file, "rb", opener=_open_without_links) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(file))
        opened.seek(since if since >= 0 else max(0, status.st_size + since))
        return opened.read()


def _open_without_links(path: str, flags: int) -> int:
    """Open a file in a folder of another user: through no link, and without waiting at a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o640)


class Brokers:
    """Running brokers, each with its own folder; a context that stops them all.

    Each broker reads its configuration in its folder, where paths are relative to that folder, and appends to
    `broker.log` there. If this process is killed, a watchdog process stops them.

    Parameters
    ----------
    folder
        The folder that holds the brokers' folders.
    kind
        The kind of broker.
    folder_name
        Returns the name of a broker's folder; the broker's own name by default.

    Raises
    ------
    MissingDependencyError
        If the program is not installed.
    """

    def __init__(self, folder: Path, kind: BrokerKind, folder_name: Callable[[str], str] = str) -> None:
        self.folder, self.kind, self.program = folder, kind, kind.find()
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._folder_name = folder_name
        self._watchdog: Watchdog | None = None

    def __enter__(self) -> Self:
        self._watchdog = Watchdog()
        return self

    def folder_of(self, broker: str) -> Path:
        """Return a broker's folder."""
        return self.folder / self._folder_name(broker)

    def log(self, broker: str) -> Path:
        """Return a broker's log file."""
        return self.folder_of(broker) / LOG

    def _open_log(self, broker: str) -> BinaryIO:
        """Open a broker's log for appending, but not a link that its user put in its place.

        Raises
        ------
        InputError
            If the log is a link or a pipe, or has a second name.
        """
        log = self.log(broker)
        try:
            file = open(log, "ab", opener=_open_without_links)  # noqa: SIM115  (the caller closes it)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENXIO):
                raise
            what = "symbolic link" if error.errno == errno.ELOOP else "pipe or socket"
            raise InputError(f"{log} is a {what}: remove it") from error
        status = os.fstat(file.fileno())
        if status.st_nlink != 1 or not stat.S_ISREG(status.st_mode):
            file.close()
            raise InputError(f"{log} is not a regular file, or has a second name: remove it")
        return file

    def start(self, broker: str) -> None:
        """Start a broker from its folder; it appends to the log that is there.

        Raises
        ------
        RuntimeError
            Outside the context.
        """
        if self._watchdog is None:
            raise RuntimeError("start brokers inside their context: with Brokers(folder) as brokers")
        _give_to_broker_user(self.folder_of(broker), self.kind.user)
        with self._open_log(broker) as file:
            self.running[broker] = subprocess.Popen(
                [self.program, *self.kind.command.split()[1:]],
                cwd=self.folder_of(broker),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                # Ctrl-C must reach only this process, which then stops the brokers.
                start_new_session=True,
            )
        self._watchdog.watch(self.running[broker].pid)

    def stop(self, broker: str, *, crash: bool = False) -> subprocess.Popen[bytes]:
        """Stop a broker: with a signal to end, or killed as in a crash; return its process, which ended."""
        process = self.running.pop(broker)
        if crash:
            process.kill()
        else:
            process.terminate()
        _wait_or_kill(process, PATIENCE)
        if self._watchdog is not None:
            self._watchdog.forget(process.pid)
        return process

    def stop_together(self, brokers: Iterable[str]) -> dict[str, subprocess.Popen[bytes]]:
        """Stop brokers at the same time; return their processes, which ended. Each writes its queues.

        Who takes too long is killed.
        """
        stopping = {broker: self.running[broker] for broker in brokers}
        for process in stopping.values():
            process.terminate()
        end = time.monotonic() + PATIENCE
        for broker, process in stopping.items():
            _wait_or_kill(process, max(0.0, end - time.monotonic()))
            del self.running[broker]
            if self._watchdog is not None:
                self._watchdog.forget(process.pid)
        return stopping

    def ended(self) -> dict[str, str]:
        """Return the brokers that ended by themselves, each with the last error in its log."""
        found = {}
        for broker, process in self.running.items():
            if process.poll() is not None:
                try:
                    lines = read_log(self.log(broker), -LAST_WORDS).decode(errors="replace").splitlines()
                except OSError as error:  # another process took the broker over and may have replaced its log
                    lines = [f"its log cannot be read: {error.strerror}"]
                last = (lines or ["its log is empty"])[-1]
                code = process.returncode
                killed = f"killed by {signal.Signals(-code).name}" if code < 0 else None
                found[broker] = killed or next((line for line in reversed(lines) if "Error" in line), last)
        return found

    def suspended(self) -> list[str]:
        """Return the brokers that a signal such as SIGSTOP has suspended: they run, and answer nobody."""
        return [broker for broker, process in self.running.items() if _is_suspended(process.pid)]

    def resume(self, broker: str) -> None:
        """Let a suspended broker go on; it has lost nothing."""
        self.running[broker].send_signal(signal.SIGCONT)

    def reload(self, broker: str) -> None:
        """Make a broker read its folder again: users, access lists and, from 2.1 on, bridges."""
        _give_to_broker_user(self.folder_of(broker), self.kind.user)
        self.running[broker].send_signal(signal.SIGHUP)

    def check(self) -> None:
        """Check that all brokers still run, and that none is suspended.

        Raises
        ------
        InputError
            If a broker has ended, with the last error in its log, or is suspended.
        """
        for broker, error in self.ended().items():
            raise InputError(f"broker {broker!r} ended by itself: {error}")
        for broker in self.suspended():
            raise InputError(f"broker {broker!r} is suspended, as by SIGSTOP: let it go on with SIGCONT")

    def wait_for_port(self, broker: str, port: int) -> None:
        """Wait until a broker that was started listens on a port of loopback.

        Raises
        ------
        InputError
            If the broker stops instead, or does not listen in time.
        """
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
            except OSError:
                self.check()
                if time.monotonic() > end:
                    raise InputError(
                        f"broker {broker!r} does not listen on port {port} after {PATIENCE:g} s: see "
                        f"{self.log(broker)}"
                    ) from None
                time.sleep(PAUSE)
            else:
                return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_together(list(reversed(self.running)))
        if self._watchdog is not None:
            self._watchdog.close()
            self._watchdog = None


def _wait_or_kill(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a process has ended, and kill it if that takes too long; a suspended one goes on to end."""
    process.send_signal(signal.SIGCONT)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_suspended(pid: int) -> bool:
    """Return whether a signal has suspended a child; systems that cannot tell say no."""
    if not hasattr(os, "waitid"):
        return False
    try:
        # WNOWAIT leaves the state for the next look, and the end of the child for its owner.
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _give_to_broker_user(folder: Path, broker_user: str) -> None:
    """Give a folder to the user that a broker becomes when root starts it; do nothing for other users.

    That user may put links into the folder, so no link is followed.
    """
    if os.geteuid() != 0:
        return
    import pwd

    for user in (broker_user, "nobody"):
        with suppress(KeyError):
            owner = pwd.getpwnam(user).pw_uid
            for _, folders, files, opened in os.fwalk(folder):
                for name in (".", *folders, *files):
                    change_owner(name, opened, owner)
            return
