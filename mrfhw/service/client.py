"""The client of a service."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from mrfhw.applications.parcel import enclosing
from mrfhw.report.targets import check_folder
from mrfhw.runs.enclosed import is_plain_name
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import output_path, staged

__all__ = ["Client"]

_OVER = ("done", "failed", "cancelled")
_ANSWER_BYTES = 1 << 26  # of JSON
_BLOCK = 1 << 20
_TIMEOUT = 300.0  # seconds without a byte; a stream of events says something in less
_PAUSE = 0.5  # seconds from one attempt to the next


class _Unreached(ProblemError):
    """The service did not answer."""


class _UnixConnection(http.client.HTTPConnection):
    """HTTP through a Unix socket."""

    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """A service that `mrfhw serve` runs, here or elsewhere.

        client = mrfhw.Client("http://127.0.0.1:8765")
        job = client.submit(mrfhw.Request("stereo", left="left.png", right="right.png"))
        client.wait(job)
        client.fetch(job, "out/stereo")

    url: http://HOST:PORT, https://HOST:PORT, or unix:PATH of a Unix socket.
    token: of a service that has tokens.
    owner: whose jobs these are, where the service has no tokens; by default "local".
    certificate: path of a certificate in PEM that is to be trusted, where the service's own is none that this computer knows.
    patience: seconds for which `wait` and `fetch` go on where the service does not answer, as while it is started again.

    A job's status is a dict, as `/openapi.json` of the service says: "id", "state" ("queued", "leased", "done", "failed" or
    "cancelled"), "progress", "error", "files" and more. Every method raises ProblemError in one line for what the service refuses,
    and where it does not answer.
    """

    def __init__(self, url: str, token: str | None = None, *, owner: str | None = None,
                 certificate: str | os.PathLike[str] | None = None, patience: float = 60.0):
        self.url, self._patience = url, patience
        self._headers = {name: value for name, value in (
            ("Authorization", None if token is None else f"Bearer {token}"), ("Mrfhw-Owner", owner)) if value is not None}
        for value in self._headers.values():
            if not value.isascii() or not value.isprintable():
                raise ProblemError("token or owner has a character that no header has; they are printable ASCII: give such")
        self._path = url.removeprefix("unix:") if url.startswith("unix:") else None
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            parts, host, port = urlsplit(""), None, None
        if not self._path and (parts.scheme not in ("http", "https") or not host):
            raise ProblemError(f"server is {url!r:.80}; it is http://HOST:PORT, https://HOST:PORT or unix:PATH: give such")
        self._scheme, self._host, self._port = parts.scheme, host or "", port
        self._base = "" if self._path else parts.path.rstrip("/")  # of a proxy
        self._certificate = certificate

    def __repr__(self) -> str:
        return f"<Client: {self.url}>"

    def submit(self, request: Request, *, key: str | None = None, weight: float | None = None, report: bool = True) -> str:
        """Have a request done; the id of its job, which is another's where the same was asked before.

        request: its files are sent with it, and no paths; not one for a board.
        key: what makes it one job of this owner; by default all that decides the bits, and report.
        weight: the owner's share in the workers while the job is done, 1 by default.
        report: with figures and report.html.
        """
        if not isinstance(request, Request):
            raise ProblemError(f"request is {request!r:.40}; it is a mrfhw.Request: give one")
        if "://" in request.backend:
            raise ProblemError(f"backend is {request.backend}; what is sent has no board: give cpu, or another name")
        headers = {"Content-Type": "application/octet-stream", "Mrfhw-Report": str(bool(report)).lower()}
        if key is not None:
            headers["Mrfhw-Key"] = _ascii("key", key)
        if weight is not None:
            headers["Mrfhw-Weight"] = _ascii("weight", str(weight))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "request.npz"
            enclosing(request).save(path)
            headers["Content-Length"] = str(path.stat().st_size)
            found = self._json("POST", "/jobs", headers, path)
        return str(found["id"])

    def status(self, job: str) -> dict[str, Any]:
        """A job as it stands."""
        return self._json("GET", f"/jobs/{_named(job)}")

    def jobs(self, state: str | None = None) -> list[dict[str, Any]]:
        """The jobs of this owner, the latest first; without tokens those of all.

        state: of this state alone.
        """
        found: list[dict[str, Any]] = []
        before: int | None = None
        while True:
            query = {name: value for name, value in (("state", state), ("before", before), ("limit", 500)) if value is not None}
            part = self._json("GET", f"/jobs?{urlencode(query)}")
            if not part["jobs"]:
                return found
            found += part["jobs"]
            before = part["before"]

    def wait(self, job: str, *, callback: Callable[[dict[str, Any]], object] | None = None) -> dict[str, Any]:
        """Wait until a job is over; its last status, which may be failed or cancelled.

        callback: called with the status whenever it has changed.
        """
        deadline = time.monotonic() + self._patience
        while True:
            try:
                for status in self._events(job):
                    deadline = time.monotonic() + self._patience
                    if callback is not None:
                        callback(status)
                    if status["state"] in _OVER:
                        return status
            except _Unreached:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)

    def fetch(self, job: str, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the files of a job that is done into a folder, all or none; the paths.

        They are those of `mrfhw run`. Raises ProblemError for a job that is not done, for a folder that cannot be written, and for
        one with a file of these names that no run wrote.
        """
        status = self._patiently(lambda: self.status(job))
        if status["state"] != "done":
            raise ProblemError(f"job {job} is {status['state']}{': ' + status['error'] if status['error'] else ''}")
        names = [name for name in status["files"] if is_plain_name(name)]
        with output_path("folder", folder, "a folder") as where:
            former = check_folder(where, names, ())
            with staged(where) as scratch:
                for name in names:
                    self._patiently(partial(self._file, f"/jobs/{_named(job)}/files/{quote(name)}", scratch / name))
            for name in former - set(names):  # of a run before, in the same folder
                if is_plain_name(name):
                    (where / name).unlink(missing_ok=True)
        return [where / name for name in names]

    def cancel(self, job: str) -> dict[str, Any]:
        """End a job that is not over; its status. One that is over stays as it is."""
        return self._json("DELETE", f"/jobs/{_named(job)}")

    def forget(self, job: str) -> dict[str, Any]:
        """Remove a job that is over, and its files; its last status."""
        return self._json("DELETE", f"/jobs/{_named(job)}?forget=true")

    # -- through the wire

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return ask()
            except _Unreached:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)

    def _connection(self) -> http.client.HTTPConnection:
        if self._path:
            return _UnixConnection(self._path, _TIMEOUT)
        if self._scheme == "https":
            try:
                context = ssl.create_default_context(cafile=None if self._certificate is None else os.fspath(self._certificate))
            except (OSError, ValueError) as error:
                raise ProblemError(f"certificate is {self._certificate}, which cannot be used ({error}): give one in PEM") from None
            return http.client.HTTPSConnection(self._host, self._port, timeout=_TIMEOUT, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT)

    @contextlib.contextmanager
    def _answer(self, method: str, path: str, headers: dict[str, str] | None = None,
                body: Path | None = None) -> Iterator[http.client.HTTPResponse]:
        """What the service answers, where it is no error. Raises _Unreached, or ProblemError with the service's line."""
        connection = self._connection()
        try:
            with contextlib.ExitStack() as files:
                data = None if body is None else files.enter_context(body.open("rb"))
                try:
                    connection.request(method, self._base + path, data, {**self._headers, **(headers or {})})
                except (BrokenPipeError, ConnectionResetError):
                    if data is None or connection.sock is None:
                        raise
                    # It did not read to the end, and may have said why.
                answer = connection.getresponse()
            if answer.status >= 400:
                raise ProblemError(_line(answer, self.url))
            yield answer
        except ssl.SSLCertVerificationError as error:
            raise ProblemError(f"server is {self.url}, whose certificate is not trusted ({error.verify_message}): give its "
                               "certificate") from None
        except (OSError, http.client.HTTPException) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
            raise _Unreached(f"server is {self.url}, which does not answer ({why}): start mrfhw serve there, or give another "
                             "server") from None
        finally:
            connection.close()

    def _json(self, method: str, path: str, headers: dict[str, str] | None = None, body: Path | None = None) -> dict[str, Any]:
        with self._answer(method, path, headers, body) as answer:
            data = answer.read(_ANSWER_BYTES)
        return _read_json(data, self.url)

    def _file(self, path: str, target: Path) -> None:
        with self._answer("GET", path) as answer:
            expected, size = answer.headers.get("Content-Length"), 0
            # What goes wrong with the file itself is no fault of the service.
            try:
                file = target.open("wb")
            except OSError as error:
                raise ProblemError(f"{target.name} cannot be written ({error.strerror}): check the folder") from None
            with file:
                while block := answer.read(_BLOCK):
                    size += len(block)
                    try:
                        file.write(block)
                    except OSError as error:
                        raise ProblemError(f"{target.name} cannot be written ({error.strerror}): check the space on the "
                                           "disk") from None
            if expected is None or size != int(expected):
                raise http.client.IncompleteRead(b"")

    def _events(self, job: str) -> Iterator[dict[str, Any]]:
        """The states of a job as they come, until it is over or the stream ends."""
        with self._answer("GET", f"/jobs/{_named(job)}/events") as answer:
            while line := answer.readline(_ANSWER_BYTES):
                if line.startswith(b"data:"):
                    yield _read_json(line.removeprefix(b"data:"), self.url)


def _ascii(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise ProblemError(f"{name} is {value!r:.40}; it is printable ASCII: give such")
    return value


def _named(job: Any) -> str:
    if not isinstance(job, str) or not job:
        raise ProblemError(f"job is {job!r:.40}; it is the id that submit gave: give one")
    return quote(job, safe="")


def _read_json(data: bytes, url: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
        if isinstance(found, dict):
            return found
    except (ValueError, RecursionError):
        pass
    raise ProblemError(f"server is {url}, whose answer is none of mrfhw serve: give the address of one")


def _line(answer: http.client.HTTPResponse, url: str) -> str:
    """What a service says of an error."""
    with contextlib.suppress(ValueError, RecursionError, KeyError, TypeError, http.client.HTTPException):
        return " ".join(str(json.loads(answer.read(_BLOCK))["error"]).split())[:1000]
    return f"server is {url}, which answers {answer.status} {answer.reason}: give the address of mrfhw serve"
