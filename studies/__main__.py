"""`python -m studies`: lists what can be measured."""

from __future__ import annotations

import ast
import pkgutil
from pathlib import Path


def studies() -> dict[str, str]:
    """The first line of the docstring of each module and package that is a command, by its name."""
    found = {}
    for one in pkgutil.iter_modules([str(Path(__file__).parent)]):
        path = Path(__file__).parent / one.name
        text = (path / "__main__.py" if one.ispkg else path.with_suffix(".py")).read_text()
        if one.ispkg or '__name__ == "__main__"' in text:
            if one.ispkg:
                text = (path / "__init__.py").read_text()
            found[one.name] = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    del found["__main__"]
    return found


if __name__ == "__main__":
    for name, line in studies().items():
        print(f"python -m studies.{name:<18}{line}")
