"""Where a service listens, and the service itself until it is ended."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import ipaddress
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mrfhw.jobs.registry import application, names
from mrfhw.service.queue import Queue, Quota
from mrfhw.service.tokens import Token
from mrfhw.system.errors import ProblemError

__all__ = ["Address", "Settings", "alone", "serve"]

_BACKLOG = 512


@dataclass(frozen=True)
class Address:
    """path: of a Unix socket; else host and port."""

    path: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8765

    @classmethod
    def of(cls, text: str) -> Address:
        """Of unix:PATH or HOST:PORT. Raises ProblemError."""
        if text.startswith("unix:") and text != "unix:":
            return cls(path=Path(text.removeprefix("unix:")))
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not (port.isascii() and port.isdecimal()) or len(port) > 5 or int(port) > 65535:
            raise ProblemError(f"listen is {text!r:.80}; it is unix:PATH or HOST:PORT: give such as 127.0.0.1:8765")
        return cls(host=host, port=int(port))

    @property
    def is_local(self) -> bool:
        """Whether this computer alone reaches it."""
        if self.path is not None or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder, as the only service on it. Raises ProblemError where there is another one."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ProblemError(f"folder is {folder}, on which another mrfhw serve works: give another folder, or end that "
                               "one") from None
        yield
    finally:
        os.close(descriptor)


def _bound(address: Address) -> socket.socket:
    """Raises ProblemError for an address that cannot be had."""
    where = str(address.path or f"{address.host}:{address.port}")
    try:
        if address.path is not None:
            return _bound_path(address.path)
        family, kind, protocol, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM,
                                                              flags=socket.AI_PASSIVE)[0]
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(place)
            found.listen(_BACKLOG)
        except BaseException:
            found.close()
            raise
        return found
    except OSError as error:
        why = "another program listens there" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise ProblemError(f"listen is {where}; {why}: give another address") from None


def _bound_path(path: Path) -> socket.socket:
    """A socket that this user alone may open. One that nobody listens at any more is removed."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            with socket.socket(socket.AF_UNIX) as other:
                try:
                    other.connect(str(path))
                except ConnectionRefusedError:
                    path.unlink()
    found, mask = socket.socket(socket.AF_UNIX), os.umask(0o177)
    try:
        found.bind(str(path))
        found.listen(_BACKLOG)
    except BaseException:
        found.close()
        raise
    finally:
        os.umask(mask)
    return found


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a service is told. certificate, key: files, for TLS. request_bytes: as of `Limits`; board: as of `Crew`; the others: as
    of `Queue`."""

    address: Address
    workers: int
    tokens: tuple[Token, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    request_bytes: int = 64 << 20
    lease_seconds: float = 60.0
    deaths: int = 3
    quota: Quota
    board: str | None = None


def serve(folder: Path, settings: Settings, say: Callable[[str], object]) -> None:
    """Serve until a signal ends it. say: told where it listens, when it does. Raises ProblemError in one line, or OSError."""
    try:
        import uvicorn

        from mrfhw.service.http import Limits, Service
    except ImportError as error:
        raise ProblemError(f"serve needs {error.name}, which is not installed: pip install 'mrfhw[serve]'") from None

    address = settings.address
    with alone(folder), contextlib.closing(Queue(folder, lease_seconds=settings.lease_seconds, deaths=settings.deaths,
                                                 quota=settings.quota)) as queue, _bound(address) as listening:
        taken = queue.take_back()
        for name in names():  # which takes seconds, and who sends first does not wait for it
            with contextlib.suppress(ProblemError):
                application(name)
        hosts = None if address.path is not None else frozenset({"localhost", "127.0.0.1", "::1", address.host})
        service = Service(queue, settings.workers, limits=Limits(settings.request_bytes), tokens=settings.tokens, hosts=hosts,
                          board=settings.board)
        config = uvicorn.Config(service.app(), log_config=None, access_log=False, lifespan="on", http="h11", ws="none",
                                timeout_graceful_shutdown=2, timeout_keep_alive=30, limit_concurrency=2000, server_header=False,
                                ssl_certfile=settings.certificate, ssl_keyfile=settings.key, proxy_headers=False)
        try:
            config.load()
        except (OSError, ValueError) as error:  # of the certificate and its key
            raise ProblemError(f"tls-cert is {settings.certificate}, and tls-key {settings.key}, which cannot be used ({error}): "
                               "give the certificate and its key in PEM") from None
        again = f", {taken} jobs of before go on" if taken else ""
        if address.path is not None:
            where = f"unix:{address.path}"
        else:
            port, host = listening.getsockname()[1], f"[{address.host}]" if ":" in address.host else address.host
            where = f"{'https' if settings.certificate else 'http'}://{host}:{port}"
        server = uvicorn.Server(config)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn ends in order, and then raises the signal again
        say(f"serving {where} from {folder}, {settings.workers} workers{again}")
        try:
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(server.serve(sockets=[listening]))
        finally:
            if address.path is not None:
                address.path.unlink(missing_ok=True)
