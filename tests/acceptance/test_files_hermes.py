"""The files that Hermes itself writes, edited by us and read back by Hermes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from tests.property.test_config_editor import check_add, check_grow, check_set, check_unset
from tests.support.comment_oracle import numbered
from tests.support.config_oracle import every_place

pytestmark = pytest.mark.host

SAVE = "from hermes_cli.config import load_config, save_config; save_config(load_config())"
READ = (
    "import json; from pathlib import Path; from hermes_cli.config import read_raw_config, load_env; "
    "from gateway.config import load_gateway_config; load_gateway_config(); "
    "print(json.dumps([read_raw_config(), load_env()]))"
)


class Hermes:
    """The real host's programs in a home of their own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.environ = {"HOME": str(folder), "HERMES_HOME": str(self.home), "PATH": str(Path(sys.executable).parent)}

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], env=self.environ, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def command(self, *arguments: str) -> None:
        self.run("-m", "hermes_cli.main", *arguments)

    @property
    def config(self) -> str:
        return (self.home / "config.yaml").read_text()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What Hermes leaves behind after each of its ways to write config.yaml."""
    texts = {}
    hermes = Hermes(tmp_path_factory.mktemp("hermes"))
    hermes.run("-c", SAVE)
    texts["first run"] = hermes.config
    hermes.command("plugins", "enable", "canon-hermes")
    texts["plugins enable"] = hermes.config
    hermes.command("config", "set", "display.skin", "ocean")
    texts["config set"] = hermes.config
    return texts


@pytest.mark.parametrize("way", ["first run", "plugins enable", "config set"])
def test_every_edit_of_a_file_that_hermes_wrote(written: dict[str, str], way: str) -> None:
    """Set, unset, new keys and new items at every place of each file, under the same proofs as the corpus."""
    text = numbered(written[way])
    places = every_place(text)
    assert places

    for path, old in places:
        check_set(text, path, old, "off")
        check_unset(text, path)
        if isinstance(old, dict):
            check_grow(text, path, {"deep": ["x"]})
        if isinstance(old, list):
            check_add(text, path, old)
    check_grow(text, (), {"canon": {"enabled": True}})


def test_hermes_reads_what_we_wrote(tmp_path: Path) -> None:
    """Both of Hermes' readers take exactly the values that were set, in both files."""
    hermes = Hermes(tmp_path)
    hermes.run("-c", SAVE)
    values = ["off", "007", "12:30", "it's # x", "a\nb", "😀", "", True, None, 1.5, ["x", "y: z"], {"k": []}]
    document = ConfigDocument.parse(hermes.config.encode())
    for number, value in enumerate(values):
        document = document.set(("ours", f"v{number}"), value)
    (hermes.home / "config.yaml").write_bytes(document.data)
    dotenv = DotenvDocument.parse(b"# ours\n").set("CANON_AGENT", "desk # 1").set("CANON_NOTE", "it's")
    (hermes.home / ".env").write_bytes(dotenv.data)

    config, environment = json.loads(hermes.run("-c", READ).splitlines()[-1])

    assert config["ours"] == {f"v{number}": value for number, value in enumerate(values)}
    assert environment == {"CANON_AGENT": "desk # 1", "CANON_NOTE": "it's"}
