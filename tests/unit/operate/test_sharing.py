"""Who else uses what a home has, found by looking at all homes."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.sharing import neighbours, users_of_canon_profile
from canon_ops.operate.uninstall import UninstallOptions, uninstall
from tests.support.canon_files import as_file, profile_entry
from tests.support.fake_host import clean_environ

ENABLED = "plugins: {enabled: [canon-hermes]}\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return clean_environ(HOME=str(tmp_path))


def make(folder: Path, config: str = ENABLED, env: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(config)
    (folder / ".env").write_text(env)
    return folder


def told(home: HermesHome, environ: dict[str, str]) -> dict[str, set[str]]:
    return {str(one): {*one.plugins} for one in neighbours(home, environ)}


def test_every_profile_of_the_root_counts(tmp_path: Path, environ: dict[str, str]) -> None:
    """The root and its profiles, whichever of them is at hand; what is denied is not loaded."""
    root = make(tmp_path / ".hermes", "plugins: {enabled: [canon-hermes], disabled: [canon-hermes]}\n")
    make(root / "profiles" / "work")
    make(root / "profiles" / "zone", "plugins: {enabled: [borgee, other]}\n")

    from_root = told(resolve_home(environ), environ)
    from_zone = told(resolve_home(environ, profile="zone"), environ)

    assert from_root == {"the Hermes profile work": {"canon-hermes"}, "the Hermes profile zone": {"borgee"}}
    assert from_zone == {"the Hermes profile default": set(), "the Hermes profile work": {"canon-hermes"}}


def test_a_custom_home_has_the_default_root_beside_it(tmp_path: Path, environ: dict[str, str]) -> None:
    """Somebody tries a second home with the same Hermes: the first one's profiles are looked at too."""
    make(make(tmp_path / ".hermes", "{}\n") / "profiles" / "work")
    custom = make(tmp_path / "elsewhere")

    found = told(resolve_home({**environ, "HERMES_HOME": str(custom)}), {**environ, "HERMES_HOME": str(custom)})

    assert found == {"the Hermes profile default": set(), "the Hermes profile work": {"canon-hermes"}}


def test_a_home_that_cannot_be_read_needs_everything(tmp_path: Path, environ: dict[str, str]) -> None:
    """Nothing is taken away on a guess."""
    root = make(tmp_path / ".hermes")
    make(root / "profiles" / "work", "plugins: [\n")

    assert told(resolve_home(environ), environ) == {
        "the Hermes profile work (its config.yaml cannot be read)": {names.plugin for names in PLATFORMS.values()}
    }


def test_two_homes_with_one_config_are_one(tmp_path: Path, environ: dict[str, str]) -> None:
    """They could never be told apart, and each would hold the other up; files that only lie side by side can be."""
    dotfiles = make(tmp_path / "dotfiles")
    (dotfiles / "work.yaml").write_text(ENABLED)
    root = tmp_path / ".hermes"
    for folder, name in ((root, "config.yaml"), (root / "profiles" / "same", "config.yaml"),
                         (root / "profiles" / "work", "work.yaml")):  # fmt: skip
        folder.mkdir(parents=True)
        (folder / "config.yaml").symlink_to(dotfiles / name)

    assert told(resolve_home(environ), environ) == {"the Hermes profile work": {"canon-hermes"}}


def canon_profiles(tmp_path: Path, *names: str) -> Path:
    agents = tmp_path / ".canon" / "agents.json"
    agents.parent.mkdir(mode=0o700)
    agents.write_bytes(as_file(**{name: profile_entry(agentId=f"agent_{name}") for name in names}))
    return agents


@pytest.mark.parametrize(
    ("config", "env", "is_used"),
    [
        (ENABLED, "CANON_AGENT=ops\n", True),
        ("{}\n", "CANON_AGENT=ops\n", True),
        (ENABLED, "CANON_AGENT=other\n", False),
        ("{}\n", "", False),
    ],
    ids=["bound", "bound and switched off", "bound to another", "without Canon"],
)
def test_a_canon_profile_that_another_hermes_profile_uses_is_not_purged(
    config: str, env: str, is_used: bool, tmp_path: Path, environ: dict[str, str]
) -> None:
    """``uninstall --purge`` takes the key that nobody else needs; otherwise it stays and the report says for whom."""
    agents = canon_profiles(tmp_path, "ops", "other")
    root = make(tmp_path / ".hermes", env="CANON_AGENT=ops\n")
    make(root / "profiles" / "work", config, env)
    home, before = resolve_home(environ), agents.read_bytes()
    options = UninstallOptions(python=None, purge=True, skip_package=True)

    outcome = uninstall(home, environ, options, Unattended(yes=True))

    assert (agents.read_bytes() == before) is is_used
    assert outcome.plan.keeps_profile == (
        "the Canon profile ops stays, because the Hermes profile work still use it" if is_used else ""
    )
    assert "CANON_AGENT" not in home.env_file.read_text()


def test_one_profile_for_all_belongs_to_all_that_are_enabled(tmp_path: Path, environ: dict[str, str]) -> None:
    """Without a choice each of them takes the only one there is."""
    canon_profiles(tmp_path, "ops")
    root = make(tmp_path / ".hermes")
    make(root / "profiles" / "work")
    make(root / "profiles" / "idle", "{}\n")

    found = users_of_canon_profile(resolve_home(environ), environ, "ops")

    assert [one.home.profile_name for one in found] == ["work"]
