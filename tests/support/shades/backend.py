"""Packs shades.py into a wheel, as setuptools would, which is not everywhere."""

import tomllib
import zipfile
from pathlib import Path


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    groups = (f"[{group}]\n" + "\n".join(f"{key} = {value}" for key, value in entries.items())
              for group, entries in project["entry-points"].items())
    files = {
        "shades.py": Path("shades.py").read_text(),
        f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        f"{name}-{version}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: shades\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}-{version}.dist-info/entry_points.txt": "\n".join(groups) + "\n",
        f"{name}-{version}.dist-info/RECORD": ""}
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w") as packed:
        for path, text in files.items():
            packed.writestr(path, text)
    return wheel
