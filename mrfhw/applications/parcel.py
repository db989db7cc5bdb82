"""Requests on their way: files go with them as bytes, and what comes from elsewhere names no place on this computer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image

from mrfhw.applications.known import NONE
from mrfhw.field.given import short
from mrfhw.field.records import LIMIT_BYTES
from mrfhw.jobs.registry import application
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.manifest import machine_in
from mrfhw.runs.enclosed import Enclosed
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import read_plain

__all__ = ["checked", "enclosing", "unpacked"]

_AS_ARRAYS = ("1", "L", "RGB", "RGBA", "I;16", "I", "F")  # modes of Pillow whose pixels say all that the image says


def _changed(request: Request, change: Callable[[str, Any], Any], machine: Any) -> Request:
    """The request with other values in the place of its files."""
    files = application(request.application).of_files
    options = {name: change(name, value) for name, value in request.options.items() if name in files}
    return request.with_options(machine=machine, **options)


def _is_word(name: str, value: Any) -> bool:
    """Whether the text of an option of files is no path."""
    return name == "mask" and value == NONE


def enclosing(request: Request) -> Request:
    """The same request with the files themselves in the place of their paths, and of the same digest.

    Raises ProblemError for a file that cannot be read, and for a Pillow image whose pixels do not say all of it.
    """
    machine = request.machine
    if machine is not None and not isinstance(machine, Config) and machine not in PRESETS:
        machine = machine_in(os.fspath(machine))
    return _changed(request, _enclosed, machine)


def _enclosed(name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_enclosed(name, one) for one in value]
    if isinstance(value, Image.Image):
        if value.mode not in _AS_ARRAYS or value.getexif().get(ExifTags.Base.Orientation, 1) != 1:
            raise ProblemError(f"{name} is a Pillow image of mode {value.mode}, or one that is to be turned; its pixels alone do "
                               "not say it all: give the path of its file, or an array")
        return np.asarray(value)
    if not isinstance(value, (str, os.PathLike)) or _is_word(name, value):
        return value
    content = read_plain(Path(value), "give a readable image file" if name != "file" else "give a saved problem", LIMIT_BYTES)
    return Enclosed(Path(value).name, np.frombuffer(content, np.uint8))


def checked(request: Request) -> Request:
    """A request from elsewhere, if it has all that it needs with it and runs on this computer. Raises ProblemError."""
    if "://" in request.backend:
        raise ProblemError(f"backend is {short(request.backend)}; what is sent has no board: give cpu, or another name")
    if request.machine is not None and not isinstance(request.machine, Config) and request.machine not in PRESETS:
        raise ProblemError(f"machine is {short(repr(request.machine))}; what is sent names no file: give a Config or one of "
                           f"{', '.join(PRESETS)}")
    files = application(request.application).of_files
    for name, value in request.options.items():
        _check_placeless(name, value, name in files)
    return request


def _check_placeless(name: str, value: Any, of_files: bool) -> None:
    """Raise ProblemError for a path, and for text where that would be one."""
    if isinstance(value, (list, tuple)):
        for one in value:
            _check_placeless(name, one, of_files)
    elif isinstance(value, os.PathLike) or (of_files and isinstance(value, str) and not _is_word(name, value)):
        raise ProblemError(f"{name} is the path {short(repr(os.fspath(value)))}; what is sent names no file: give an array, or "
                           "send it by mrfhw submit or mrfhw.Client, which enclose the file")
    elif isinstance(value, Enclosed) and not of_files:
        raise ProblemError(f"{name} is an enclosed file; {name} is no option of files: give its value")


def unpacked(request: Request) -> Request:
    """The request with its enclosed files written into the working directory, and their names in their places."""
    taken: set[str] = set()

    def written(name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [written(name, one) for one in value]
        if not isinstance(value, Enclosed):
            return value
        called = value.name
        while called in taken or called == NONE:
            called = f"{name}-{called}"[:200]
            if called in taken:
                called = f"{len(taken)}-{name}"
        taken.add(called)
        Path(called).write_bytes(value.content.tobytes())
        return called

    return _changed(request, written, request.machine)
