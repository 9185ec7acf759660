"""config.yaml rewritten by Hermes itself: many homes in one child process, since starting a host takes seconds.

The child calls what ``hermes config set`` and ``hermes plugins enable`` call, in the order of the cases, each with
HERMES_HOME pointing at its own home.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

__all__ = ["WAYS", "Way", "rewritten_by_hermes"]

Way = Literal["config set", "plugins enable"]
WAYS: tuple[Way, ...] = ("config set", "plugins enable")
PLUGIN = "canon-hermes"
NOT_BY_HERMES = {"null_section", "null_section_with_comment"}  # `plugins:` with nothing in it: 0.18 and 0.19 raise

_CHILD = """
import contextlib, io, json, os, sys
cases = json.load(sys.stdin)
os.environ["HERMES_HOME"] = cases[0]["home"]
from hermes_cli.config import set_config_value
from hermes_cli.plugins_cmd import cmd_enable
failed = {}
for case in cases:
    os.environ["HERMES_HOME"] = case["home"]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            if case["way"] == "config set":
                set_config_value("display.skin", "ocean")
            else:
                cmd_enable(case["plugin"], allow_tool_override=False)
    except BaseException as error:
        failed[case["home"]] = f"{type(error).__name__}: {error} {said.getvalue()[-200:]}"
print(json.dumps(failed))
"""


def rewritten_by_hermes(
    texts: Mapping[str, str], way: Way, folder: Path, *, python: str = sys.executable, timeout_s: float = 600
) -> dict[str, bytes]:
    """What Hermes makes of each text.

    Args:
        folder: for the homes; empty.
        python: the interpreter of the host.

    Returns:
        The new bytes by name; a text at which Hermes itself failed is left out, and must be one of ``NOT_BY_HERMES``.
    """
    homes = {name: folder / f"home{number}" for number, name in enumerate(texts)}
    for name, home in homes.items():
        home.mkdir(parents=True)
        (home / "config.yaml").write_bytes(texts[name].encode())
    cases = [{"home": str(home), "way": way, "plugin": PLUGIN} for home in homes.values()]
    failed = _run(cases, folder, python, timeout_s)
    done = {name: (home / "config.yaml").read_bytes() for name, home in homes.items() if str(home) not in failed}
    assert texts.keys() - done.keys() <= NOT_BY_HERMES, failed
    return done


def _run(cases: Sequence[Mapping[str, str]], folder: Path, python: str, timeout_s: float) -> dict[str, str]:
    environ = {"HOME": str(folder), "PATH": str(Path(python).parent), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [python, "-c", _CHILD],
        input=json.dumps(cases),
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))
