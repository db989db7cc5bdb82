"""What the service answers, as an OpenAPI description."""

from __future__ import annotations

from typing import Any

import mrfhw
from mrfhw.service.queue import STATES

__all__ = ["description"]

_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}
_TIME = {"type": ["number", "null"], "description": "seconds since 1970"}
_WHOLE = {"type": "integer", "minimum": 0}
_JOB: dict[str, Any] = {
    "id": {"type": "string", "pattern": "^[0-9a-f]{16}$"}, "owner": _TEXT, "key": _TEXT, "application": _TEXT,
    "state": {"type": "string", "enum": list(STATES)}, "weight": _NUMBER, "report": {"type": "boolean"},
    "attempts": {**_WHOLE, "description": "how often it was begun"}, "submitted": _TIME, "began": _TIME, "ended": _TIME,
    "progress": {"type": ["object", "null"], "description": "sweeps of all chains, while it is at work",
                 "properties": {"done": _WHOLE, "total": _WHOLE}, "required": ["done", "total"]},
    "error": {"type": ["string", "null"], "description": "why it failed, one line"},
    "files": {"type": "array", "items": _TEXT, "description": "names of the files of its result"},
    "request_bytes": _WHOLE, "result_bytes": _WHOLE,
}
_ERRORS = {400: "what is asked cannot be", 401: "no token of this service is given", 403: "it is asked for by another host's page",
           404: "there is no such job or file", 405: "there is no such method", 408: "the request did not go on",
           409: "the job is not in a state for this, or the key is another request's", 413: "the request is too large",
           429: "the owner has as much here as the quota allows", 500: "a mistake of the service",
           507: "the disk does not take it now"}


def _answers(*errors: int, **found: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """found: by "status_" and a number, what is said of it and its content."""
    made: dict[str, Any] = {status.removeprefix("status_"): {"description": said, "content": content}
                            for status, (said, content) in found.items()}
    for status in sorted({400, 401, 403, 500, *errors}):
        made[str(status)] = {"description": _ERRORS[status],
                             "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    return made


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _parameter(place: str, name: str, schema: dict[str, Any], said: str) -> dict[str, Any]:
    return {"in": place, "name": name, "required": place == "path", "schema": schema, "description": said}


_ID = _parameter("path", "id", _JOB["id"], "of the job")
_OWNER = _parameter("header", "Mrfhw-Owner", _TEXT, "whose job it is, where the service has no tokens; by default local")


def _paths(most: int) -> dict[str, Any]:
    submit = {
        "summary": "Have a run done. The same owner and key is the same job.", "operationId": "submit",
        "parameters": [
            _OWNER,
            _parameter("header", "Mrfhw-Key", {"type": "string", "maxLength": 200},
                       "what makes it one job; by default the digest of the request"),
            _parameter("header", "Mrfhw-Weight", {"type": "number", "minimum": 0.01, "maximum": 100},
                       "the owner's share in the workers, relative to that of others; by default 1"),
            _parameter("header", "Mrfhw-Report", {"type": "boolean"}, "whether figures and a page are made; by default true")],
        "requestBody": {"required": True, "description": f"A saved mrfhw.Request of at most {most} bytes, with arrays or enclosed "
                        "files and no paths.", "content": {"application/octet-stream": {
                            "schema": {"type": "string", "format": "binary", "maxLength": most}}}},
        "responses": _answers(408, 409, 413, 429, 507, status_201=("a new job", _json("Job")),
                              status_200=("the job that there is already", _json("Job")))}
    listed = {"summary": "Jobs, the latest first.", "operationId": "jobs", "parameters": [
        _parameter("query", "state", _JOB["state"], "of this state alone"),
        _parameter("query", "before", {"type": "integer", "minimum": 1}, "what the list before this one has as before"),
        _parameter("query", "limit", {"type": "integer", "minimum": 1, "maximum": 1000}, "jobs of it at most; by default 100")],
        "responses": _answers(status_200=("a list", _json("Jobs")))}
    cancel = {"summary": "Cancel a job; one that is over stays as it is.", "operationId": "cancel", "parameters": [
        _ID, _parameter("query", "forget", {"type": "boolean"}, "remove a job that is over, with its files")],
        "responses": _answers(404, 409, 507, status_200=("the job", _json("Job")))}
    return {
        "/": {"get": {"summary": "A page of the queue, workers and pictures.", "operationId": "index", "responses": _answers(
            status_200=("the page", {"text/html": {"schema": _TEXT}}))}},
        "/openapi.json": {"get": {"summary": "This description.", "operationId": "openapi", "responses": _answers(
            status_200=("it", {"application/json": {"schema": {"type": "object"}}}))}},
        "/jobs": {"post": submit, "get": listed},
        "/jobs/{id}": {"get": {"summary": "A job as it stands.", "operationId": "job", "parameters": [_ID],
                               "responses": _answers(404, status_200=("the job", _json("Job")))}, "delete": cancel},
        "/jobs/{id}/events": {"get": {
            "summary": "The job whenever it has changed, until it is over: server-sent events called job, whose data is a Job.",
            "operationId": "events", "parameters": [_ID],
            "responses": _answers(404, status_200=("events", {"text/event-stream": {"schema": _TEXT}}))}},
        "/jobs/{id}/files/{name}": {"get": {
            "summary": "A file of a job that is done.", "operationId": "file",
            "parameters": [_ID, _parameter("path", "name", _TEXT, "one of the job's files")],
            "responses": _answers(404, status_200=("the file", {
                kind: {"schema": {"type": "string", "format": "binary"}}
                for kind in ("application/octet-stream", "application/json", "image/png", "text/html")}))}}}


def description(most: int, tokens: bool) -> dict[str, Any]:
    """most: bytes of a request. tokens: whether each request needs one."""
    job = {"type": "object", "properties": _JOB, "required": list(_JOB), "additionalProperties": False}
    jobs = {"type": "object", "required": ["jobs", "before"], "additionalProperties": False, "properties": {
        "jobs": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}},
        "before": {"type": ["integer", "null"], "description": "for the next list; null where this one is empty"}}}
    error = {"type": "object", "properties": {"error": {"type": "string", "description": "one line"}}, "required": ["error"],
             "additionalProperties": False}
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "mrfhw serve", "version": mrfhw.__version__,
                 "description": "Runs that wait, are done once and are kept."},
        "paths": _paths(most), "components": {"schemas": {"Job": job, "Jobs": jobs, "Error": error}}}
    if tokens:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found
