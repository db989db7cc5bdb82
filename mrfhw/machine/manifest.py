"""The machine that options describe."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mrfhw.machine.config import Config, ConfigError, mesh_shape
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.system.input_files import read_plain

__all__ = ["DEFAULTS", "MANIFEST_HINT", "MESH_FIELDS", "NAMES", "Stated", "config_from_options", "machine_in", "read_manifest",
           "split_options", "stated_digest"]

# Fields given by --spes and --mesh.
MESH_FIELDS = ("mesh_rows", "mesh_cols")
# The options of a machine, with their defaults.
DEFAULTS: dict[str, Any] = {"machine": None, "preset": "default", "spes": None, "mesh": None,
                            **{p.name: None for p in Config.space() if p.name not in MESH_FIELDS}}
NAMES = tuple(DEFAULTS)
MANIFEST_BYTES = 1 << 20
MANIFEST_HINT = "give a manifest.json that mrfhw generate or mrfhw build has written"


class Stated(Config):
    """A machine that a manifest states, equal to the `Config` that it is of.

    circuit: the digest of its circuit, 64 hexadecimal digits; None where the manifest states none.
    """

    circuit: str | None = None


def stated_digest(config: Config) -> str | None:
    """The digest of a machine's circuit, where a manifest states it."""
    return config.circuit if isinstance(config, Stated) else None


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options as (those of the machine, the others)."""
    machine = {name: value for name, value in options.items() if name in NAMES}
    return machine, {name: value for name, value in options.items() if name not in NAMES}


def read_manifest(path: str | Path) -> dict[str, Any]:
    """What a manifest.json of `mrfhw generate` or `mrfhw build` states, not yet checked. Raises ConfigError for no such file."""
    data = read_plain(path, MANIFEST_HINT, MANIFEST_BYTES, ConfigError)
    try:
        held = json.loads(data)
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, dict) or not {"parameters", "interface", "parameters_digest"} <= set(held):
        raise ConfigError(f"{path} is no manifest of a machine: {MANIFEST_HINT}")
    return held


def machine_in(path: str | Path) -> Stated:
    """The machine that a manifest states.

    Raises ConfigError for what is no manifest, and for one of another interface, whose registers would be read wrongly.
    """
    held = read_manifest(path)
    parameters, interface, digest = held["parameters"], held["interface"], held["parameters_digest"]
    if interface != INTERFACE_VERSION:
        raise ConfigError(f"{path} has interface {interface!s:.40}; this version of mrfhw has {INTERFACE_VERSION}: generate the "
                          "machine anew, or use the version of mrfhw that generated it")
    try:
        config = Stated.from_dict(parameters)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (TypeError, ValueError, AttributeError, KeyError):
        raise ConfigError(f"{path} has parameters of no machine: {MANIFEST_HINT}") from None
    if Derived.of(config).digest != digest:
        raise ConfigError(f"{path} has parameters with another digest than it states, so that it was changed by hand: generate the "
                          "machine anew")
    circuit = held.get("digest")
    if circuit is not None and not re.fullmatch("[0-9a-f]{64}", str(circuit)):
        raise ConfigError(f"{path} has a digest of no circuit: {MANIFEST_HINT}")
    object.__setattr__(config, "circuit", circuit)
    return config


def config_from_options(*, machine: str | Path | Config | None = None, preset: str = "default", spes: int | None = None,
                        mesh: tuple[int, int] | None = None, **fields: Any) -> Config:
    """The machine that the options describe: the manifest's, or the preset, changed by those that are not None.

    Raises ConfigError for what no machine can have, for an option of a sampler that the machine does not have, where --spes
    and --mesh disagree, and where a manifest comes with other options.
    """
    changes = {name: value for name, value in fields.items() if value is not None}
    if machine is not None:
        others = [*(["preset"] if preset != DEFAULTS["preset"] else []), *(["spes"] if spes is not None else []),
                  *(["mesh"] if mesh is not None else []), *changes]
        if others:
            raise ConfigError(f"machine is given, and {', '.join(others)} too; a manifest states the whole machine: drop one")
        return machine if isinstance(machine, Config) else machine_in(machine)
    if mesh is not None:
        changes["mesh_rows"], changes["mesh_cols"] = mesh
        if spes is not None and spes != mesh[0] * mesh[1]:
            raise ConfigError(f"spes is {spes} and mesh is {mesh[0]}x{mesh[1]}; they differ: give one of the two")
    elif spes is not None:
        changes["mesh_rows"], changes["mesh_cols"] = mesh_shape(spes)
    return Config.preset(preset).changed(**changes)
