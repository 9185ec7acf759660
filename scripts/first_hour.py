"""Walk the README as somebody new on a clean machine, up to a green doctor and a gateway, and write what they see.

    python -m scripts.first_hour           # writes docs/first-hour.md
    python -m scripts.first_hour --check   # walks, and writes nothing

A real Hermes in an environment of its own, canon-ops in another one, a loopback Canon in the second terminal, every
command typed on a pseudo-terminal of 100 columns; nothing of this machine's own homes is seen. It fails when a step
does not end as a newcomer needs it, when the doctor is not green, and when the README does not show a command that is
typed here. What changes from one run to the next (ports, ids, times, versions of other people's packages) is written
as it was; so the page is not compared, but made anew by ``make first-hour``, which walks the whole way each time.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.layouts import LayoutHost, uv_host
from tests.support.terminal import CTRL_C, ENTER, Screen

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "first-hour.md"
COLUMNS: Final = 100
READY_S: Final = 120.0
INSTALLED_S: Final = 600.0  # an index, and two dozen packages
SHOWN_HOME: Final = "/home/the-operator"  # as long as the folder that stands for it, so that lines break alike
SECRETS: Final = (
    (re.compile(r"(agk_live_sandbox_)[0-9a-f]+"), r"\1…"),
    (re.compile(r"(X-Sandbox-Token: |admin_token +)[\w-]+"), r"\1…"),
)
INTRODUCTION: Final = """\
# The first hour

Somebody with a Hermes and a clean home follows the README: what is typed, and what the screen shows. A loopback Canon
in a second terminal stands for the real one. `make first-hour` walks this way again and writes this page; it fails
where the way does not end in a green doctor and a connected gateway.
"""


class Astray(Exception):
    """The way did not end as the README promises."""


@dataclass
class Walk:
    """One newcomer's two terminals; ``told`` is the page as it grows."""

    host: LayoutHost
    told: list[str] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        own = {"PATH": f"{self.host.user / 'canon-ops' / 'bin'}:{self.host.environ['PATH']}"}
        return {**self.host.environ, **own, "TERM": "xterm-256color", "LANG": "C.UTF-8"}

    def say(self, text: str) -> None:
        self.told.append(f"\n{text}\n")

    def open(self, command: str, *, columns: int = COLUMNS) -> Screen:
        return Screen(["/bin/sh", "-c", f"exec {command}"], self.environ, columns=columns, rows=100)

    def types(
        self,
        command: str,
        answers: Sequence[tuple[str, str]] = (),
        *,
        shown: str | None = None,
        limit_s: float = READY_S,
    ) -> str:
        """Type one command, answer what it asks, and note what is on the screen when it has ended.

        Args:
            answers: what to wait for, and what to press then.
            shown: the command as the page shows it.
        """
        with Screen(["/bin/sh", "-c", command], self.environ, columns=COLUMNS, rows=100) as screen:
            for question, keys in answers:
                screen.wait_for(question, timeout_s=READY_S)
                screen.type(keys)
            code = screen.finish(timeout_s=limit_s)
            self.note(shown or command, screen.text)
        if code != 0:
            raise Astray(f"`{command}` ended with {code}:\n{screen.text}")
        return screen.text

    def note(self, command: str, text: str) -> None:
        self.told.append(f"\n```\n$ {command}\n{text}".rstrip() + "\n```\n")

    def page(self) -> str:
        text = "".join([INTRODUCTION, *self.told]).replace(str(self.host.user), SHOWN_HOME)
        for secret, instead in SECRETS:
            text = secret.sub(instead, text)
        return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="canon", dir="/tmp") as folder:  # as long as SHOWN_HOME
        walk = Walk(uv_host(Path(folder)))
        try:
            _walk(walk)
        except Astray as exc:
            print(exc, file=sys.stderr)
            return 1
        if "--check" not in sys.argv[1:]:
            PAGE.write_text(walk.page(), encoding="utf-8")
    return 0


def _walk(walk: Walk) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(walk.host.user / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    walk.say("## canon-ops, in an environment of its own")
    wheel = '"$(echo dist/canon_ops-*.whl)[sandbox]"'
    make = f"python3 -m venv ~/canon-ops && ~/canon-ops/bin/pip install --quiet {wheel}"
    walk.types(make.replace("python3", sys.executable).replace("dist/", "~/dist/"), shown=make, limit_s=INSTALLED_S)
    on_path = 'export PATH="$HOME/canon-ops/bin:$PATH"'
    walk.say(f"Its commands are in `~/canon-ops/bin`, which is on `PATH` from here on: `{on_path}`.")

    walk.say("## Into the Hermes that is there")
    walk.say("First a rehearsal, which asks and writes nothing:")
    walk.types("canon-ops install canon --dry-run --diff")
    walk.types("canon-ops install canon", [("(Y/n)", ENTER)])

    walk.say("## An agent of its own")
    walk.say("A Canon to try with, in a second terminal:")
    with walk.open("canon-ops sandbox canon", columns=400) as canon:
        shown = canon.wait_for("Ctrl-C", timeout_s=READY_S)
        walk.note("canon-ops sandbox canon", shown)
        register = _line(shown, "Register an agent here")
        walk.say("Its line is pasted into the first one. Enter takes what each question offers; the last page waits:")
        with walk.open(register) as screen:
            for question in ("? Canon profile", "? Agent's name", "? What it is for", "? Agent id to"):
                screen.wait_for(question, timeout_s=READY_S)
                screen.type(ENTER)
            screen.wait_for("waiting up to", timeout_s=READY_S)
            _approve(_line(shown, "Approve the oldest request"), walk)
            if (code := screen.finish(timeout_s=READY_S)) != 0:
                raise Astray(f"setup ended with {code}:\n{screen.text}")
            walk.note(register, screen.text)

        walk.say("## Is everything right?")
        report = walk.types("canon-ops doctor")
        if not re.search(r"^\d+ info, \d+ ok", report, re.MULTILINE) or "✗" in report:
            raise Astray(f"the doctor is not green:\n{report}")

        walk.say("## The gateway")
        walk.say("It is started in a terminal of its own, and asked about from the first one:")
        with walk.open("hermes gateway run") as gateway:
            gateway.wait_for("Press Ctrl+C to stop", timeout_s=READY_S)
            status = _connected(walk)
            walk.note("canon-ops status", status)
            gateway.type(CTRL_C)
        canon.type(CTRL_C)
    _all_in_the_readme(walk)


def _line(text: str, head: str) -> str:
    found = re.search(rf"^{head}: (.+)$", text, re.MULTILINE)
    if found is None:
        raise Astray(f"the sandbox does not say: {head}")
    return found[1].strip()


def _approve(command: str, walk: Walk) -> None:
    """The human's approval, by the sandbox's own line."""
    done = subprocess.run(["/bin/sh", "-c", command], env=walk.environ, capture_output=True, text=True, check=False)
    if done.returncode != 0 or '"error"' in done.stdout:
        raise Astray(f"the request could not be approved: {done.stdout}{done.stderr}")


def _connected(walk: Walk) -> str:
    """``status``, as soon as it says that the gateway is connected."""
    for _ in range(30):
        with walk.open("canon-ops status") as screen:
            screen.finish(timeout_s=READY_S)
            if "; connected" in screen.text:
                return screen.text
    raise Astray(f"the gateway is not connected:\n{screen.text}")


def _all_in_the_readme(walk: Walk) -> None:
    """What is typed here stands in the README, word for word up to its options."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    typed = re.findall(r"^\$ ((?:canon-ops|hermes) \w+(?: canon)?)", "".join(walk.told), re.MULTILINE)
    missing = [words for words in typed if words not in readme and words.split()[1] not in readme]
    if missing:
        raise Astray(f"the README does not show: {', '.join(missing)}")


if __name__ == "__main__":
    sys.exit(main())
