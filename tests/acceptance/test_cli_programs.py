"""The names under which the program is started, and the signals that end it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from canon_ops import __version__
from canon_ops.sandbox.options import CanonOptions
from canon_ops.sandbox.server import CanonSandbox

FOLDER = Path(sys.executable).parent


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}


WAYS = {
    "canon-ops": ([str(FOLDER / "canon-ops")], "canon-ops"),
    "canon-hermes": ([str(FOLDER / "canon-hermes")], "canon-hermes"),
    "canon-hermes-plugin": ([str(FOLDER / "canon-hermes-plugin")], "canon-hermes"),
    "-m canon_ops": ([sys.executable, "-m", "canon_ops"], "canon-ops"),
    "-m canon_hermes_plugin.cli": ([sys.executable, "-m", "canon_hermes_plugin.cli"], "canon-hermes"),
}


@pytest.mark.parametrize(("command", "name"), WAYS.values(), ids=WAYS.keys())
def test_five_ways_to_start_it(command: list[str], name: str, environ: dict[str, str]) -> None:
    """Each answers with its name and the version."""
    done = subprocess.run([*command, "--version"], env=environ, capture_output=True, text=True, timeout=30)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"{name} {__version__}\n", "")


WRITES = {
    "config set": (["config", "set", "streaming.enabled", "true"], "config.yaml", "streaming:\n  enabled: true\n"),
    "env set": (["env", "set", "TZ", "UTC"], ".env", "TZ=UTC\n"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("words", "file", "text"), WRITES.values(), ids=WRITES.keys())
def test_the_sticky_profile_is_the_one_that_is_written(
    way: str, words: list[str], file: str, text: str, environ: dict[str, str], tmp_path: Path
) -> None:
    """BR-37: with `work` in ``active_profile`` its file changes, the report names it, and the root keeps its bytes."""
    root = tmp_path / ".hermes"
    work = root / "profiles" / "work"
    work.mkdir(parents=True)
    (root / "active_profile").write_text("work\n")
    (root / file).write_text("# the root's own\n")

    done = subprocess.run([*WAYS[way][0], *words], env=environ, capture_output=True, text=True, timeout=30)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"Hermes profile work: {work / file}"
    assert (work / file).read_text() == text
    assert sorted(path.name for path in root.iterdir()) == sorted([file, "active_profile", "profiles"])
    assert (root / file).read_text() == "# the root's own\n"


@pytest.mark.parametrize("page", ["--version", "--help"])
def test_a_page_that_cannot_be_written_is_a_failure(page: str, environ: dict[str, str]) -> None:
    """Also the two pages that need no command."""
    done = subprocess.run(
        [str(FOLDER / "canon-ops"), page], env=environ, stderr=subprocess.PIPE, text=True, timeout=30,
        preexec_fn=lambda: os.close(1),
    )  # fmt: skip

    assert done.returncode == 3
    assert done.stderr == "Error: The answer could not be written to stdout: Bad file descriptor.\n"


def test_a_closed_stderr_loses_the_conversation_only(environ: dict[str, str]) -> None:
    """The answer and the exit code stay; a failure is told by its code."""
    wrong = subprocess.run(
        [str(FOLDER / "canon-ops"), "nonsense"], env=environ, stdout=subprocess.PIPE, text=True, timeout=30,
        preexec_fn=lambda: os.close(2),
    )  # fmt: skip

    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "Interrupted."), (signal.SIGTERM, 143, "Terminated."), (signal.SIGHUP, 143, "Terminated.")],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_unwinds_and_the_request_stays(
    environ: dict[str, str], number: signal.Signals, code: int, word: str
) -> None:
    """While the owner thinks: the exit code of the signal, no traceback, and the message names the request."""
    with CanonSandbox(CanonOptions()) as canon:
        ends = canon.endpoints
        child = subprocess.Popen(
            [
                str(FOLDER / "canon-ops"), "setup", "canon", "--environment", ends.environment_id,
                "--base-url", ends.api, "--stream-url", ends.stream, "--owner-phone", "+15550100",
                "--canon-profile", "ops", "--agent-id", "",
            ],
            env=environ, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        canon.wait(lambda world: any(request.polls for request in world.registrations.values()), timeout_s=30)

        child.send_signal(number)
        out, err = child.communicate(timeout=30)
        (request,) = canon.human.registrations()

    assert (child.returncode, out) == (code, ""), err
    assert err.splitlines()[-1] == word
    assert str(request["request_id"]) in err
    assert "Traceback" not in err


def test_nohup_is_respected(environ: dict[str, str]) -> None:
    """A caller that had SIGHUP ignored does not get it back."""
    command = f"trap '' HUP; {FOLDER / 'canon-ops'} sandbox model & child=$!; sleep 1; kill -HUP $child; sleep 0.3; kill -0 $child && kill $child; wait $child; echo $?"  # noqa: E501 - one shell line

    done = subprocess.run(["/bin/sh", "-c", command], env=environ, capture_output=True, text=True, timeout=30)

    assert done.stdout.splitlines()[-1] == "143"  # the SIGTERM, not the SIGHUP


def test_words_are_utf8_in_a_locale_that_knows_only_ascii(environ: dict[str, str], tmp_path: Path) -> None:
    """BR-09: keys, values, items, stdin, variables and folders with accents, all the way to the file and back."""
    folder = tmp_path / "café"
    home = folder / ".hermes"
    (folder / "canön").mkdir(parents=True)
    home.mkdir()
    config, dotenv = home / "config.yaml", home / ".env"
    start = {config: "# né\na: 1\n", dotenv: f"CANON_HOME={folder}/canön\n"}
    for file, text in start.items():
        file.write_text(text, encoding="utf-8")
    plain = {**environ, "HERMES_HOME": str(home), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def run(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(FOLDER / "canon-ops"), *words], env=plain | more, input=stdin, capture_output=True, encoding="utf-8",
            timeout=30, check=False,
        )  # fmt: skip

    calls = [
        run("config", "set", "personalities.家", "café 😀"),
        run("config", "set", "b", "naïve", "--type", "str", "--diff"),
        run("config", "add", "plugins.enabled", "é"),
        run("env", "set", "CANON_AGENT", "désk"),
        run("env", "set", "CANON_AGENT", "--stdin", stdin="frönt\n"),
        run("env", "set", "CANON_AGENT", "--from-env", "GIVEN", GIVEN="bàck"),
    ]

    assert [(call.returncode, call.stderr) for call in calls] == [(0, "")] * len(calls)
    assert config.read_text(encoding="utf-8") == (
        "# né\na: 1\npersonalities:\n  家: café 😀\nb: naïve\nplugins:\n  enabled:\n  - é\n"
    )
    assert dotenv.read_text(encoding="utf-8") == start[dotenv] + "CANON_AGENT=bàck\n"
    assert json.loads(run("config", "get", "personalities.家", "--json").stdout)["data"]["value"] == "café 😀"
    for _ in calls:
        assert run("undo").returncode == 0
    assert {file: file.read_text(encoding="utf-8") for file in start} == start


def test_a_history_is_the_same_in_every_locale(environ: dict[str, str], tmp_path: Path) -> None:
    """A change of one locale is taken back in another; the names of its files are what they were."""
    home = tmp_path / "café"
    home.mkdir()
    config = home / "config.yaml"
    config.write_text("a: 1\n")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for first, second in ((ascii_only, {}), ({}, ascii_only)):
        for words, locale in ((("config", "set", "a", "2"), first), (("undo",), second)):
            done = subprocess.run(
                [str(FOLDER / "canon-ops"), *words], env={**environ, "HERMES_HOME": str(home), **locale},
                capture_output=True, timeout=30, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, b""), words
        assert config.read_text() == "a: 1\n"
