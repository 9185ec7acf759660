"""config.yaml is read as the gateway reads it; the real loader is asked beside ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from canon_ops.files.atomic import NotAFile
from canon_ops.files.yaml_reader import ConfigSyntaxError
from canon_ops.hermes.config_file import HermesConfig, read_config


def config(folder: Path, text: str | bytes) -> HermesConfig:
    file = folder / "config.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_config(file)


def test_an_absent_file_is_an_empty_configuration(tmp_path: Path) -> None:
    """Nothing is enabled and nothing is created."""
    found = read_config(tmp_path / "config.yaml")

    assert (found.exists, found.enabled_plugins, found.disabled_plugins, found.platform("canon")) == (
        False,
        None,
        (),
        {},
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "enabled", "disabled"),
    [
        ("", None, ()),
        ("plugins:\n", None, ()),
        ("plugins:\n  enabled:\n", None, ()),
        ("plugins:\n  enabled: canon-hermes, borgee\n", None, ()),
        ("plugins:\n  enabled: []\n  disabled: canon-hermes\n", (), ()),
        ("plugins: {enabled: [canon-hermes], disabled: [x]}\n", ("canon-hermes",), ("x",)),
        ("\ufeffplugins:\r\n  enabled:\r\n  - canon-hermes\r\n", ("canon-hermes",), ()),
    ],
)
def test_only_a_list_enables_plugins(
    text: str, enabled: tuple[str, ...] | None, disabled: tuple[str, ...], tmp_path: Path
) -> None:
    """A text, a null and an absent key are the same to the host: no plugin."""
    found = config(tmp_path, text)

    assert (found.enabled_plugins, found.disabled_plugins) == (enabled, disabled)


PLATFORM_TEXTS = [
    "platforms:\n  rig:\n    enabled: true\n    extra: {base_url: https://a}\n",
    "gateway:\n  platforms:\n    rig: {enabled: true, token: t, extra: {a: 1, b: 1}}\n"
    "platforms:\n  rig: {enabled: false, extra: {b: 2}}\n",
    'platforms:\n  rig: {enabled: "off"}\n',
    'platforms:\n  rig: {enabled: "on"}\n',
    "platforms:\n  rig: {enabled: yes}\n",
    "rig:\n  enabled: true\n",
    "platforms:\n  rig: {enabled: true}\nrig: {enabled: false}\n",
    "platforms:\n  rig: {enabled: true}\nrig: words\n",
]

_ASK_THE_HOST = """\
import json, os, sys
from gateway.config import Platform, load_gateway_config
from gateway.platform_registry import PlatformEntry, platform_registry
rig = PlatformEntry(name="rig", label="Rig", adapter_factory=lambda config: None, check_fn=lambda: False)
platform_registry.register(rig)
answers = []
for text in json.load(sys.stdin):
    with open(os.path.join(os.environ["HERMES_HOME"], "config.yaml"), "w") as file:
        file.write(text)
    found = load_gateway_config().platforms.get(Platform("rig"))
    extra = {k: v for k, v in (found.extra if found else {}).items() if not k.startswith("_")}
    answers.append([found.enabled if found else None, found.token if found else None, extra])
json.dump(answers, sys.stdout)
"""


@pytest.mark.host
def test_a_platform_block_is_merged_as_the_host_merges_it(tmp_path: Path) -> None:
    """For every form of the block, switch, token and extra are those of the host's own loader."""
    home = tmp_path / "home"
    home.mkdir()
    answer = subprocess.run(
        [sys.executable, "-c", _ASK_THE_HOST],
        input=json.dumps(PLATFORM_TEXTS),
        env={"HOME": str(tmp_path), "HERMES_HOME": str(home), "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    ours = []
    for text in PLATFORM_TEXTS:
        found = config(tmp_path, text)
        block = found.platform("rig")
        ours.append([found.platform_switch("rig"), block.get("token"), block.get("extra", {})])

    assert ours == json.loads(answer.stdout)


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        (b"plugins:\n\tenabled: [borgee]\n", 2, 1, "has a tab"),
        (b"a: 1\n---\nb: 2\n", 2, 1, "several documents"),
        (b"- a\n- b\n", 1, 1, "holds a list"),
        (b"a: {b\n", 2, 1, ""),
        (b"a: 1\nb: caf\xe9\n", 2, 7, "not UTF-8"),
        (b"a: 1\nd: 2024-13-45\n", 2, 4, "cannot build"),
        (b'a: "\\ud800"\n', 1, 7, "cannot be read"),
    ],
)
def test_a_file_that_hermes_cannot_read_is_refused_with_its_place(
    text: bytes, line: int, column: int | None, word: str, tmp_path: Path
) -> None:
    """BR-02: line, column and reason; the file is untouched."""
    with pytest.raises(ConfigSyntaxError) as caught:
        config(tmp_path, text)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert word in caught.value.what
    assert (tmp_path / "config.yaml").read_bytes() == text


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    """What cannot be opened is not a fault in the YAML."""
    (tmp_path / "config.yaml").mkdir()

    with pytest.raises(NotAFile):
        read_config(tmp_path / "config.yaml")
