"""Docstrings where Python leaves them out (PYTHONOPTIMIZE=2, python -OO): some modules change theirs at import, and help is made
of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

__all__ = ["keep_docstrings"]


class _Loader(SourceFileLoader):
    """Compiles a module with its docstrings and without assertions. Nothing is kept: what is, is without docstrings."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = compile(self.get_data(path), path, "exec", dont_inherit=True, optimize=1)
        return code


class _Finder(MetaPathFinder):
    def __init__(self, packages: Sequence[str]):
        self.packages = tuple(packages)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not any(name == package or name.startswith(f"{package}.") for package in self.packages):
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _Loader(found.loader.name, found.loader.path)
        return found


def keep_docstrings(*packages: str) -> None:
    """Modules of these packages that are imported from now on have their docstrings, whatever Python is told."""
    if sys.flags.optimize > 1 and not any(isinstance(one, _Finder) and one.packages == packages for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder(packages))
