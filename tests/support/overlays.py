"""A real Hermes with a few words changed: the installed one stays as it is, a thin environment lies over it."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path

from tests.support.fake_host import make_environment, site_of

__all__ = ["edited_host"]

_FINDER = """\
import importlib.abc
import importlib.util
import sys


class Edited(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_file_location(name, {file!r}) if name == {module!r} else None


sys.meta_path.insert(0, Edited())
"""


def edited_host(folder: Path, module: str, before: str, after: str) -> Path:
    """The interpreter of an environment that has everything of this one, but one module of Hermes edited.

    The edit is found before any path is searched, because the host puts its own folder first on the path.

    Args:
        folder: takes the environment.
        module: ``gateway.session``.
        before, after: text that the module's source holds, and what stands there instead.
    """
    python = make_environment(folder)
    site = site_of(python)
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    assert before in text
    edited = folder / "edited.py"
    edited.write_text(text.replace(before, after), encoding="utf-8")
    site.joinpath("edited_finder.py").write_text(_FINDER.format(file=str(edited), module=module))
    site.joinpath("beneath.pth").write_text(
        f"import site; site.addsitedir({sysconfig.get_path('purelib')!r}); import edited_finder\n"
    )
    return python
