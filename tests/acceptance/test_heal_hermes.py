"""Files that Hermes itself rewrote get their comments back, and Hermes reads from them exactly what it wrote.

``make test-heal`` runs the whole: every text of the corpus, both of the host's commands, two hosts, and six homes that
a running gateway rewrote. ``make test`` runs a slice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.heal import Healed, heal, own_comments
from canon_ops.files.yaml_difference import alike
from canon_ops.hermes.boilerplate import find_boilerplate
from canon_ops.sandbox.model.server import ModelSandbox
from canon_ops.sandbox.server import CanonSandbox
from scripts.test_hosts import row
from tests.support.config_corpus import READABLE
from tests.support.conversing import answer_to
from tests.support.environments import find_python
from tests.support.gateways import direct_key, start_gateway
from tests.support.hermes_rewrites import WAYS, Way, rewritten_by_hermes
from tests.support.homes import GatewayHome, build_home

pytestmark = pytest.mark.host

SLICE = ("owner_comment", "comments_in_lists", "anchors")
OTHER_HOST = "0.21.0.post1"


def check_healed(text: bytes, rewritten: bytes) -> Healed:
    """Heal, and hold the result against PyYAML and the comments of the old text."""
    older, present = ConfigDocument.parse(text), ConfigDocument.parse(rewritten)

    result = heal(older, present, find_boilerplate)

    assert alike(yaml.safe_load(result.data) or {}, yaml.safe_load(rewritten) or {})
    new = ConfigDocument.parse(result.data)
    moved_from, moved_to = Counter(each.text for each in result.moved), Counter(each.line for each in result.moved)
    assert comments_of(older) - moved_from + moved_to == comments_of(new), result.data.decode()
    return result


def comments_of(document: ConfigDocument) -> Counter[str]:
    """The comments that people wrote."""
    return Counter(placed.comment.text for placed in own_comments(document, find_boilerplate))


@pytest.mark.parametrize("way", WAYS)
def test_a_slice_of_the_corpus_heals_after_this_host(way: Way, tmp_path: Path) -> None:
    """Every comment is back, no comment of Hermes' own came with it, and the values are those that Hermes wrote."""
    texts = {name: READABLE[name] for name in (SLICE if way == "plugins enable" else READABLE)}

    rewritten = rewritten_by_hermes(texts, way, tmp_path)

    for name, text in texts.items():
        result = check_healed(text.encode(), rewritten[name])
        assert not result.is_transplant, name


def test_hermes_appends_what_we_take_for_its_own(tmp_path: Path) -> None:
    """The help texts of this host, and nothing else of its file, are boilerplate."""
    (text,) = rewritten_by_hermes({"a": "a: 1\n"}, "plugins enable", tmp_path).values()

    document = ConfigDocument.parse(text)
    assert len(document.layout.comments) > 20
    assert own_comments(document, find_boilerplate) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("host", ["this", OTHER_HOST])
def test_the_whole_corpus_heals_after_each_host(host: str, way: Way, tmp_path: Path) -> None:
    """Every text that Hermes reads, after each of its commands, on two of its releases."""
    python = sys.executable if host == "this" else interpreter_of(host)

    rewritten = rewritten_by_hermes(READABLE, way, tmp_path, python=python, timeout_s=1500)

    healed = {name: check_healed(READABLE[name].encode(), text) for name, text in rewritten.items()}
    assert len(healed) >= len(READABLE) - 2
    assert [name for name, result in healed.items() if result.is_transplant] == []


def interpreter_of(release: str) -> str:
    """The interpreter of another host, in an environment that is made once."""
    for minor in ("3.13", "3.12", "3.11"):
        environment = row(release, minor).environment if find_python(minor) else None
        if environment is not None:
            return str(environment.make())
    raise AssertionError(f"no Python for Hermes {release}")


# -- the gateway's own rewrite -----------------------------------------------------------------------------------------


def above_and_beside(text: str) -> str:
    lines = [f"{line}   # beside {number}" for number, line in enumerate(text.splitlines())]
    top = [f"# about {line.split(':')[0]}\n{line}" if not line.startswith((" ", "-")) else line for line in lines]
    return "# owner: ops team\n\n" + "\n".join(top) + "\n# the end\n"


def in_brackets(text: str) -> str:
    keys = [f"# about {key}\n{key}: {json.dumps(value)}  # one line\n" for key, value in yaml.safe_load(text).items()]
    return "---\n" + "\n".join(keys)


def with_anchors(text: str) -> str:
    shared = (
        "# shared by both\nours: &shared\n  a: 1  # one\n  b: [x, y]\ntheirs: *shared\nmixed:\n  <<: *shared\n  c: 3\n"
    )
    return shared + "# settings\n" + text


def in_crlf(text: str) -> str:
    return above_and_beside(text).replace("\n", "\r\n")


def with_a_mark(text: str) -> str:
    return "\ufeff# café 😀\n" + text + "# the end, without a line end"


def in_quotes_and_wide(text: str) -> str:
    wide = "".join(
        f"{' ' * (2 * (len(line) - len(line.lstrip())))}{line.lstrip()}" for line in text.splitlines(keepends=True)
    )
    return wide.replace("model:\n", "model: # the model\n").replace("enabled: true", "enabled: yes  # YAML 1.1") + (
        'notes: |\n    # not a comment\n    text\nquoted: "0600"  # octal, as text\n'
    )


HANDS: tuple[Callable[[str], str], ...] = (
    above_and_beside, in_brackets, with_anchors, in_crlf, with_a_mark, in_quotes_and_wide,
)  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("hand", HANDS, ids=lambda hand: hand.__name__)
def test_a_file_that_the_gateway_rewrote_heals(hand: Callable[[str], str], tmp_path: Path) -> None:
    """The first message of a fresh home makes the gateway rewrite its file; a snapshot and a heal bring all back."""
    with CanonSandbox() as box, ModelSandbox() as model:
        home = build_home(tmp_path, model_url=model.endpoints.base_url, dotenv=direct_key(box))
        file = home.path / "config.yaml"
        settings = yaml.safe_load(file.read_bytes())
        del settings["onboarding"]  # as in a fresh home
        written = hand(yaml.safe_dump(settings, sort_keys=False))
        file.write_bytes(written.encode())
        ops(home, "config", "snapshot")
        gateway = start_gateway(home, tmp_path / "gateway.out")
        try:
            gateway.wait_ready()
            answer_to(box, box.human.say(None, "[say hello]"))
        finally:
            gateway.stop()

    rewritten = file.read_bytes()
    assert b"profile_build_offered: true" in rewritten
    assert not own_comments(ConfigDocument.parse(rewritten), find_boilerplate)

    data = ops(home, "config", "heal", "--yes")

    assert alike(yaml.safe_load(file.read_bytes()), yaml.safe_load(rewritten))
    assert comments_of(ConfigDocument.parse(file.read_bytes())) == comments_of(ConfigDocument.parse(written.encode()))
    assert (data["moved"], data["is_transplant"]) == ([], False)
    added = "onboarding:\n  seen:\n    profile_build_offered: true\n"
    assert sorted(file.read_text().split()) == sorted(f"{written}\n{added}".split())


def ops(home: GatewayHome, *words: str) -> dict[str, Any]:
    """The data of a command of ours in this home, run as a program."""
    script = Path(sys.executable).with_name("canon-ops")
    done = subprocess.run(
        [str(script), *words, "--json"], env=dict(home.environ), capture_output=True, text=True, check=False, timeout=60
    )
    document: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 0, document
    return dict(document["data"])
