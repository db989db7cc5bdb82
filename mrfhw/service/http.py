"""The service by HTTP: jobs come in, are looked at, cancelled, and their files fetched. What they are is the queue's."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import math
import os
import re
import secrets
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import mrfhw
from mrfhw.applications.parcel import checked
from mrfhw.machine.config import ConfigError
from mrfhw.service.crew import Crew
from mrfhw.service.openapi import description
from mrfhw.service.page import page
from mrfhw.service.queue import STATES, Ask, Job, Queue, Refused
from mrfhw.service.tokens import Token
from mrfhw.system.errors import ProblemError

__all__ = ["Limits", "Service"]

NAME = re.compile(r"[A-Za-z0-9._@+-]{1,64}")
KEY = re.compile(r"[\x21-\x7e]{1,200}")
WEIGHTS = (0.01, 100.0)
LISTED = 1000  # jobs of one answer at most
_SHOWN = 60  # of the page
_QUIET = 15.0  # seconds without a change after which a stream of events says that it is there
_BETWEEN = 0.2  # seconds from one event to the next at least
_STALLED = 30.0  # seconds without a byte of a body
_DRAINED = 5.0  # seconds that a body is read on which is refused, so that the answer arrives
_KINDS = {".png": "image/png", ".json": "application/json", ".html": "text/html; charset=utf-8"}
# Of all that is answered: nothing is loaded from elsewhere, and no script runs.
_HEADERS = [(b"content-security-policy", b"default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'"),
            (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"), (b"cache-control", b"no-store")]


@dataclass(frozen=True)
class Limits:
    """request_bytes: of a request, as it is sent and of its arrays."""

    request_bytes: int = 64 << 20


def _error(status: int, line: str) -> JSONResponse:
    return JSONResponse({"error": " ".join(line.split())}, status, {"www-authenticate": "Bearer"} if status == 401 else None)


class _Guard:
    """Lets in who may come, and says who it is: the token's name, or without tokens what the header says.

    hosts: what a request may call this computer, where it listens to all that runs here; a page of a browser could otherwise ask,
    too. None where that cannot be.
    """

    def __init__(self, app: ASGIApp, tokens: tuple[Token, ...], hosts: frozenset[str] | None):
        self._app, self._tokens, self._hosts = app, tokens, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_HEADERS]}
            await send(message)

        refused = self._refused(Request(scope))
        await (refused or self._app)(scope, receive, with_headers)

    def _refused(self, request: Request) -> Response | None:
        if self._tokens:
            return self._without_token(request)
        if self._hosts is not None:
            origin = request.headers.get("origin")
            try:
                host = urlsplit(f"//{request.headers.get('host', '')}").hostname
                asked = [host, urlsplit(origin).hostname if origin else host]
            except ValueError:
                asked = [None]
            if not self._hosts.issuperset(asked):
                return _error(403, "the request is for another host, or comes from a page of one: give the address that mrfhw "
                                   "serve says")
        owner = request.headers.get("mrfhw-owner", "local")
        if not NAME.fullmatch(owner):
            return _error(400, f"Mrfhw-Owner is {owner!r:.80}; it has 1 to 64 letters, digits and ._@+-: give such a name")
        request.scope["mrfhw"] = Token(owner, "", WEIGHTS[1])
        return None

    def _without_token(self, request: Request) -> Response | None:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        digest = hashlib.sha256(given.strip().encode("latin-1", "replace")).hexdigest()
        found = None
        for token in self._tokens:  # all of them, so that the time tells nothing
            if hmac.compare_digest(token.digest, digest):
                found = token
        if found is None or kind.lower() != "bearer":
            return _error(401, "no token of this service is given: give the header Authorization: Bearer TOKEN")
        request.scope["mrfhw"] = found
        return None


class Service:
    """The application of a queue and its workers. tokens: who may ask; none: who reaches it may, and all see all.

    hosts: as of `_Guard`. board: as of `Crew`.
    """

    def __init__(self, queue: Queue, workers: int, *, limits: Limits = Limits(), tokens: tuple[Token, ...] = (),
                 hosts: frozenset[str] | None = None, board: str | None = None):
        self._queue, self._workers, self._limits, self._tokens, self._hosts = queue, workers, limits, tokens, hosts
        self._board = board
        self._events: dict[str, asyncio.Event] = {}
        self._reading = asyncio.Semaphore(1)  # one request at a time is in memory, and no thread waits for its turn
        self._crew: Crew | None = None

    @property
    def crew(self) -> Crew:
        assert self._crew is not None
        return self._crew

    def app(self) -> ASGIApp:
        routes = [Route("/", self.index), Route("/openapi.json", self.openapi), Route("/jobs", self.submit, methods=["POST"]),
                  Route("/jobs", self.jobs), Route("/jobs/{id}", self.job), Route("/jobs/{id}", self.cancel, methods=["DELETE"]),
                  Route("/jobs/{id}/events", self.events), Route("/jobs/{id}/files/{name}", self.file)]
        handlers: Any = {Refused: _refused, ProblemError: _wrong, ConfigError: _wrong, HTTPException: _http, OSError: _disk,
                         sqlite3.Error: _disk, ClientDisconnect: _gone, Exception: _broken}
        app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan)
        app.router.redirect_slashes = False
        return _Guard(app, self._tokens, self._hosts)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self._crew = Crew(self._queue, self._workers, self._changed, self._board)
        self._crew.start()
        try:
            yield
        finally:
            await self._crew.close()

    def _changed(self, job: str) -> None:
        event = self._events.pop(job, None)
        if event is not None:
            event.set()

    def _owner(self, request: Request) -> str | None:
        """Whose jobs are seen; None for all."""
        return request.scope["mrfhw"].name if self._tokens else None

    def _shown(self, job: Job) -> dict[str, Any]:
        at = self.crew.at(job.id)
        return {"id": job.id, "owner": job.owner, "key": job.key, "application": job.application, "state": job.state,
                "weight": job.weight, "report": job.report, "attempts": job.attempts, "submitted": job.submitted,
                "began": job.began, "ended": job.ended,
                "progress": None if at is None else {"done": at[0], "total": at[1]}, "error": job.error, "files": list(job.files),
                "request_bytes": job.request_bytes, "result_bytes": job.result_bytes}

    # -- what is asked

    async def submit(self, request: Request) -> Response:
        token, headers = request.scope["mrfhw"], request.headers
        weight, report = _weight(headers.get("mrfhw-weight"), token), _report(headers.get("mrfhw-report"))
        key = headers.get("mrfhw-key")
        if key is not None and not KEY.fullmatch(key):
            raise Refused(400, f"Mrfhw-Key is {key!r:.80}; it has 1 to 200 printable characters of ASCII, none of them a space: "
                               "give such a key")
        path = self._queue.incoming / secrets.token_hex(16)
        try:
            await self._spool(request, path)
            async with self._reading:
                application, digest = await asyncio.to_thread(self._read, path)
            ask = Ask(owner=token.name, key=key or digest + ("" if report else "-plain"), digest=digest, application=application,
                      report=report, weight=weight)
            job, new = await asyncio.to_thread(self._queue.submit, ask, path)
        finally:
            path.unlink(missing_ok=True)
        self.crew.wake()
        return JSONResponse(self._shown(job), 201 if new else 200, {"location": f"/jobs/{job.id}"})

    async def _spool(self, request: Request, path: Path) -> None:
        """The body into a file, which is on the disk then. Raises Refused for one that is too large, or does not come."""
        most, size = self._limits.request_bytes, 0
        declared, body = request.headers.get("content-length", "0"), request.stream()
        too_large = Refused(413, f"the request has more than {most} bytes, the limit: give smaller pictures or a window")
        if declared.isdecimal() and int(declared[:20]) > most:
            await _drain(body)
            raise too_large
        with path.open("xb") as file:
            while True:
                try:
                    async with asyncio.timeout(_STALLED):
                        chunk = await anext(body, None)
                except TimeoutError:
                    raise Refused(408, f"the request did not go on for {_STALLED:g} s: send it again") from None
                if chunk is None:
                    break
                size += len(chunk)
                if size > most:
                    await _drain(body)
                    raise too_large
                file.write(chunk)
            file.flush()
            await asyncio.to_thread(os.fsync, file.fileno())

    def _read(self, path: Path) -> tuple[str, str]:
        """The application and the digest of the request in a file. Raises ProblemError for what is none."""
        try:
            found = checked(mrfhw.Request.load(path, limit=self._limits.request_bytes))
            return found.application, found.digest
        except (ProblemError, ConfigError) as error:
            raise Refused(400, str(error).replace(str(path), "the request")) from None
        except MemoryError:
            raise Refused(413, "the request takes more memory than there is: give smaller pictures or a window") from None

    async def jobs(self, request: Request) -> Response:
        query = request.query_params
        state = query.get("state")
        if state not in (None, *STATES):
            raise Refused(400, f"state is {state!r:.40}; it is {', '.join(STATES)}: give one of them")
        before, limit = _number(query.get("before"), "before", 1 << 62), _number(query.get("limit"), "limit", LISTED)
        found = await asyncio.to_thread(lambda: self._queue.jobs(owner=self._owner(request), state=state, before=before,
                                                                 limit=limit or 100))
        return JSONResponse({"jobs": [self._shown(job) for job in found], "before": found[-1].number if found else None})

    async def _found(self, request: Request) -> Job:
        return await asyncio.to_thread(self._queue.job, request.path_params["id"], self._owner(request))

    async def job(self, request: Request) -> Response:
        return JSONResponse(self._shown(await self._found(request)))

    async def cancel(self, request: Request) -> Response:
        forget = request.query_params.get("forget", "false")
        if forget not in ("true", "false"):
            raise Refused(400, f"forget is {forget!r:.40}; it is true or false: give one of them")
        method = self._queue.forget if forget == "true" else self._queue.cancel
        job = await asyncio.to_thread(method, request.path_params["id"], self._owner(request))
        if job.state == "cancelled":
            self.crew.stop(job.id)
        self._changed(job.id)
        return JSONResponse(self._shown(job))

    async def events(self, request: Request) -> Response:
        job = await self._found(request)

        async def lines() -> AsyncIterator[str]:
            said, owner = "", self._owner(request)
            while True:
                changed = self._events.setdefault(job.id, asyncio.Event())
                try:
                    now = await asyncio.to_thread(self._queue.job, job.id, owner)
                except Refused:  # forgotten
                    return
                text = json.dumps(self._shown(now))
                if text != said:
                    yield f"event: job\ndata: {text}\n\n"
                    said = text
                if now.is_over:
                    return
                try:
                    await asyncio.wait_for(changed.wait(), _QUIET)
                    await asyncio.sleep(_BETWEEN)
                except TimeoutError:
                    yield ": still there\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def file(self, request: Request) -> Response:
        job, name = await self._found(request), request.path_params["name"]
        if name not in job.files:
            raise Refused(404, f"{job.id} is {job.state} and has no file {name!r:.60}: give one of its files")
        path = self._queue.place(job) / "result" / name
        return FileResponse(path, media_type=_KINDS.get(path.suffix, "application/octet-stream"))

    async def index(self, request: Request) -> Response:
        owner = self._owner(request)
        counts = await asyncio.to_thread(self._queue.counts, owner)
        jobs = await asyncio.to_thread(lambda: self._queue.jobs(owner=owner, limit=_SHOWN))
        mine = {job.id for job in jobs} if owner is not None else None
        return HTMLResponse(page(counts, jobs, self.crew.places, self.crew.trouble, mine))

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(description(self._limits.request_bytes, bool(self._tokens)))


async def _drain(body: AsyncIterator[bytes]) -> None:
    """Read on for a while, as who still sends does not hear the answer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAINED):
            async for _ in body:
                pass


def _weight(text: str | None, token: Token) -> float:
    try:
        weight = min(1.0, token.weight) if text is None else float(text)
    except ValueError:
        weight = math.nan
    if not WEIGHTS[0] <= weight <= token.weight:
        raise Refused(400, f"Mrfhw-Weight is {text!r:.40}; the limits of {token.name} are {WEIGHTS[0]:g} to {token.weight:g}: "
                           "give a number between them")
    return weight


def _report(text: str | None) -> bool:
    if text not in (None, "true", "false"):
        raise Refused(400, f"Mrfhw-Report is {text!r:.40}; it is true or false: give one of them")
    return text != "false"


def _number(text: str | None, name: str, most: int) -> int | None:
    if text is None:
        return None
    if not re.fullmatch("[0-9]{1,18}", text) or not 1 <= int(text) <= most:
        raise Refused(400, f"{name} is {text!r:.40}; the limits are 1 to {most}: give a whole number between them")
    return int(text)


# -- what went wrong, as answers


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _error(error.status, str(error))


async def _wrong(request: Request, error: Exception) -> Response:
    return _error(400, str(error))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, f"{request.method} {request.url.path!r:.80}: {error.detail}; /openapi.json says what there is")


async def _disk(request: Request, error: Exception) -> Response:
    why = getattr(error, "strerror", None) or str(error)
    return _error(507, f"the service cannot keep it now ({why}); what it has kept stays: send it again later")


async def _gone(request: Request, error: Exception) -> Response:
    return _error(400, "the request ended before its end: send it again")


async def _broken(request: Request, error: Exception) -> Response:
    return _error(500, "the service has made a mistake, which its own output has; what it has kept stays")
