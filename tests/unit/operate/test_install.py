"""Installing a platform into a host: everything that can say no says it first, and what is shown is what is done."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from canon_ops.errors import CanonOpsError, ExitCode, UsageError
from canon_ops.files.transaction import ChangedUnderUs
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.operate.edit_config import ManagedHome
from canon_ops.operate.install import (
    Access,
    ForeignPlugin,
    HostRefused,
    InstallNotVerified,
    InstallOptions,
    InstallOutcome,
    PackageMissing,
    PluginDenied,
    PluginUnusable,
    carry_out,
    install,
    plan_install,
)
from canon_ops.operate.prompts import Choice, Question, Tell, Unattended, Validate
from canon_ops.settings.secret import Secret
from tests.support.canon_files import as_file, profile_entry
from tests.support.fake_host import (
    clean_environ,
    make_environment,
    put_distribution,
    put_hermes,
    put_loader,
    site_of,
)

LOADED = {"name": "canon-hermes", "key": "canon-hermes", "version": "", "source": "entrypoint", "enabled": True,
          "error": None}  # fmt: skip

PLAIN = InstallOptions()


@dataclass
class Person:
    """Somebody at the terminal who answers every confirmation the same way and remembers what was said."""

    yes: bool
    asked: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def confirm(self, question: Question, *, default: bool) -> bool:
        self.asked.append(question.option)
        return self.yes

    def note(self, text: str) -> None:
        self.told.append(text)

    def progress(self, text: str) -> nullcontext[Tell]:
        return nullcontext(lambda _text: None)

    def text(self, question: Question, *, default: str | None = None, validate: Validate | None = None) -> str:
        raise AssertionError(question)

    def secret(self, question: Question, *, validate: Validate | None = None) -> Secret:
        raise AssertionError(question)

    def choose(self, question: Question, choices: Sequence[Choice], *, default: str | None = None) -> str:
        raise AssertionError(question)


@dataclass
class Site:
    """One user with a host that loads what its configuration enables, and a home that need not exist."""

    user: Path
    python: Path
    environ: dict[str, str]

    @property
    def home(self) -> HermesHome:
        return resolve_home(self.environ)

    def write(self, config: str | None = None, env: str | None = None) -> None:
        self.home.path.mkdir(exist_ok=True)
        if config is not None:
            self.home.config_file.write_bytes(config.encode())
        if env is not None:
            self.home.env_file.write_bytes(env.encode())

    def read(self) -> tuple[str | None, str | None]:
        config, env = self.home.config_file, self.home.env_file
        return config.read_text() if config.exists() else None, env.read_text() if env.exists() else None

    def install(
        self, prompts: Person | Unattended | None = None, options: InstallOptions = PLAIN, *, dry_run: bool = False
    ) -> InstallOutcome:
        chosen = replace(options, python=self.python)
        return install(self.home, self.environ, chosen, prompts or Unattended(), dry_run=dry_run)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    python = make_environment(tmp_path / "env")
    put_hermes(python)
    put_loader(python, [LOADED])
    put_distribution(
        python,
        "canon-ops",
        "0.1.0",
        {"canon_hermes_plugin/__init__.py": "def register(ctx): ...\n"},
        entry_points={"canon-hermes": "canon_hermes_plugin"},
        editable=tmp_path / "checkout",  # a developer's own: no command replaces it unasked
    )
    return Site(tmp_path, python, clean_environ(HOME=str(tmp_path)))


def test_a_first_install_enables_everything(site: Site) -> None:
    """SC.16: on an empty home the plugin and the platform are enabled and everybody may start turns, as it says."""
    prompts = Person(yes=True)

    outcome = site.install(prompts)

    config, env = site.read()
    assert read_config(site.home.config_file).tree == {
        "plugins": {"enabled": ["canon-hermes"]},
        "platforms": {"canon": {"enabled": True}},
    }
    assert env == "CANON_ALLOW_ALL_USERS=true\n"
    assert (outcome.plan.access, outcome.changed) == (Access.EVERYBODY, True)
    assert prompts.asked == ["--no-allow-all-users"]
    assert any("CANON_ALLOW_ALL_USERS=true" in sentence for sentence in prompts.told)
    assert outcome.verified == ("Hermes loads canon-hermes from its entrypoint.",)
    assert outcome.next_steps == ("canon-ops setup canon", "hermes gateway run")
    assert config is not None


def test_new_files_are_private(site: Site) -> None:
    """A configuration and a .env that did not exist are readable by their owner alone, and so is the new home."""
    site.install()

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (site.home.path, site.home.config_file, site.home.env_file)]
    assert modes == [0o700, 0o600, 0o600]


def test_a_second_install_changes_nothing(site: Site) -> None:
    """SC.17: neither bytes nor times of the files change, nothing is asked, and it is still verified."""
    site.install()
    files = [site.home.config_file, site.home.env_file]
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    prompts = Person(yes=False)

    outcome = site.install(prompts)

    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before
    assert (outcome.changed, outcome.history_id, prompts.asked) == (False, None, [])
    assert outcome.verified


def test_a_commented_file_keeps_every_other_byte(site: Site) -> None:
    """Only the lines that say what was asked for are new; nothing unasked is added (BR-01)."""
    site.write(
        "# owner: ops team, ask before editing\r\n"
        "plugins:\r\n"
        "  # reviewed\r\n"
        "  enabled: []   # keep sorted\r\n"
        "display:\r\n"
        "  tool_progress: off\r\n"
        '  language: "en"',
        "# mine\nexport OTHER='x y'\n",
    )

    site.install()

    assert site.home.config_file.read_bytes().decode() == (
        "# owner: ops team, ask before editing\r\n"
        "plugins:\r\n"
        "  # reviewed\r\n"
        "  enabled: [canon-hermes]   # keep sorted\r\n"
        "display:\r\n"
        "  tool_progress: off\r\n"
        '  language: "en"\r\n'
        "platforms:\r\n"
        "  canon:\r\n"
        "    enabled: true"
    )
    assert site.read()[1] == "# mine\nexport OTHER='x y'\nCANON_ALLOW_ALL_USERS=true\n"


@pytest.mark.parametrize(
    ("env", "options", "access", "after"),
    [
        ("", PLAIN, Access.EVERYBODY, "CANON_ALLOW_ALL_USERS=true\n"),
        ("CANON_ALLOW_ALL_USERS=\n", PLAIN, Access.EVERYBODY, "CANON_ALLOW_ALL_USERS=true\n"),
        ("CANON_ALLOWED_USERS=u1\n", PLAIN, Access.KEPT, "CANON_ALLOWED_USERS=u1\n"),
        ("CANON_ALLOW_ALL_USERS=false\n", PLAIN, Access.KEPT, "CANON_ALLOW_ALL_USERS=false\n"),
        (
            "CANON_ALLOW_ALL_USERS=false\n",
            InstallOptions(allow_all_users=True),
            Access.EVERYBODY,
            "CANON_ALLOW_ALL_USERS=true\n",
        ),
        ("", InstallOptions(allow_all_users=False), Access.OPEN, None),
        ("CANON_ALLOWED_USERS=u1\n", InstallOptions(allow_all_users=False), Access.LISTED, "CANON_ALLOWED_USERS=u1\n"),
        (
            "CANON_ALLOW_ALL_USERS=true\n",
            InstallOptions(allow_all_users=False),
            Access.OPEN,
            "CANON_ALLOW_ALL_USERS=false\n",
        ),
        ("", InstallOptions(allowed_users=("u1", "u2")), Access.LISTED, "CANON_ALLOWED_USERS=u1,u2\n"),
        (
            "CANON_ALLOW_ALL_USERS=yes\n",
            InstallOptions(allowed_users=("u1",)),
            Access.LISTED,
            "CANON_ALLOW_ALL_USERS=false\nCANON_ALLOWED_USERS=u1\n",
        ),
    ],
)
def test_the_access_policy(env: str, options: InstallOptions, access: Access, after: str | None, site: Site) -> None:
    """C3: the first run opens unless a value or a list is there; an option wins, and a list closes the switch."""
    site.write(env=env or None)

    outcome = site.install(options=options)

    assert (outcome.plan.access, site.read()[1]) == (access, after)


def test_the_shell_counts_as_a_value(site: Site) -> None:
    """A switch in the process environment is a decision too."""
    site.environ["CANON_ALLOWED_USERS"] = "u1"

    assert site.install().plan.access is Access.KEPT


def test_a_person_may_decline(site: Site) -> None:
    """N-14: who says no to everybody gets the rest of the installation and an unset switch."""
    outcome = site.install(Person(yes=False))

    assert (outcome.plan.access, site.read()[1]) == (Access.OPEN, None)
    assert read_config(site.home.config_file).enabled_plugins == ("canon-hermes",)


def test_the_first_run_rule_speaks_once(site: Site) -> None:
    """Who declined the switch does not find it set by the next installation, unattended or not."""
    site.install(options=InstallOptions(allow_all_users=False))

    again = site.install()

    assert (again.plan.access, again.changed, site.read()[1]) == (Access.OPEN, False, None)


def test_no_global_switch_is_ever_set(site: Site) -> None:
    """N-11: what opens Canon opens nothing else."""
    site.install(options=InstallOptions(allow_all_users=True))

    assert "GATEWAY_ALLOW_ALL_USERS" not in (site.read()[1] or "")


def test_a_dry_run_writes_nothing_and_says_all(site: Site) -> None:
    """The plan is complete, and not even the home is made."""
    outcome = site.install(dry_run=True)

    assert not site.home.path.exists()
    assert [change.path.name for change in outcome.plan.changes] == ["config.yaml", ".env"]
    assert (outcome.history_id, outcome.verified, outcome.dry_run) == (None, (), True)


def test_a_rehearsal_asks_nobody(site: Site) -> None:
    """What has a default is shown as it would be, and that it will be asked; nothing hangs on a terminal."""
    person = Person(yes=False)

    outcome = site.install(person, dry_run=True)

    assert person.asked == []
    assert outcome.plan.access is Access.EVERYBODY
    assert any("is asked before anything is written" in told for told in person.told)


def foreign(site: Site) -> None:
    put_distribution(site.python, "canon-hermes-plugin", "0.14.1", {"canon_hermes_plugin/cards.py": ""})


def other_hermes(site: Site) -> None:
    site_of(site.python).joinpath("hermes_cli", "__init__.py").write_text('__version__ = "0.18.0"\n')


def not_there(site: Site) -> None:
    in_an_image(site)
    (site_of(site.python) / "canon_ops-0.1.0.dist-info" / "METADATA").unlink()
    (site_of(site.python) / "canon_ops-0.1.0.dist-info" / "entry_points.txt").unlink()
    (site_of(site.python) / "canon_ops-0.1.0.dist-info" / "RECORD").unlink()


def in_an_image(site: Site) -> None:
    site_of(site.python).joinpath(".install_method").write_text("docker\n")


def broken(site: Site) -> None:
    site_of(site.python).joinpath("canon_hermes_plugin", "__init__.py").write_text("import nowhere_to_be_found\n")


def without_register(site: Site) -> None:
    site_of(site.python).joinpath("canon_hermes_plugin", "__init__.py").write_text("")


def managed(site: Site) -> None:
    site.environ["HERMES_MANAGED"] = "nixos"


def denied(site: Site) -> None:
    site.write("plugins:\n  disabled: [canon-hermes]\n")


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (foreign, ForeignPlugin, "canon-hermes-plugin 0.14.1"),
        (other_hermes, HostRefused, "This is Hermes 0.18.0"),
        (not_there, PackageMissing, "canon-ops is not installed in"),
        (broken, PluginUnusable, "No module named 'nowhere_to_be_found'"),
        (without_register, PluginUnusable, "no register function"),
        (managed, ManagedHome, "NixOS"),
        (denied, PluginDenied, "plugins.disabled"),
    ],
)
def test_a_refusal_comes_before_the_first_byte(
    spoil: Callable[[Site], None], error: type[CanonOpsError], words: str, site: Site
) -> None:
    """One sentence, a cure, exit 1, and both files as they were."""
    spoil(site)
    before = site.read()

    with pytest.raises(error) as caught:
        site.install()

    assert words in caught.value.what
    assert caught.value.fix
    assert caught.value.exit_code is ExitCode.FAILED
    assert site.read() == before


def test_a_foreign_owner_is_named_with_the_way_to_remove_it(tmp_path: Path, site: Site) -> None:
    """N1: where nothing can be installed there is a sentence about the place; elsewhere the word that consents."""
    foreign(site)
    with pytest.raises(ForeignPlugin) as offered:
        site.install()
    in_an_image(site)

    with pytest.raises(ForeignPlugin) as caught:
        site.install()

    assert caught.value.fix == (
        f"remove canon-hermes-plugin from the container image that Hermes runs from ({tmp_path / 'env'})"
    )
    assert offered.value.fix == "canon-ops install canon --yes"


def test_consent_takes_the_plugin_off_the_deny_list(site: Site) -> None:
    """With consent it moves: out of the one list, into the other."""
    site.write("plugins:\n  disabled: [x, canon-hermes]\n")
    prompts = Person(yes=True)

    site.install(prompts)

    config = read_config(site.home.config_file)
    assert (config.enabled_plugins, config.disabled_plugins) == (("canon-hermes",), ("x",))
    assert prompts.asked[0] == "--yes"


def test_a_switch_that_beats_the_other_is_the_one_that_is_set(site: Site) -> None:
    """A top-level block of the platform decides for the host, so it is the one that changes."""
    site.write("canon:\n  enabled: false\n")

    site.install()

    config = read_config(site.home.config_file)
    assert config.platform_switch("canon") is True
    assert config.tree["canon"] == {"enabled": True}


@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2\n", "plugins:\n\tenabled: []\n", "- a\n"])
def test_a_file_that_hermes_cannot_read_is_left_alone(text: str, site: Site) -> None:
    """BR-02: refused with its place; neither file changes."""
    site.write(text)

    with pytest.raises(CanonOpsError) as caught:
        site.install()

    assert caught.value.line is not None
    assert site.read() == (text, None)


def test_a_text_where_a_list_belongs_is_not_replaced(site: Site) -> None:
    """N-2: the plugins named in a text are not switched off by ours."""
    site.write('plugins:\n  enabled: "borgee, other"\n')

    with pytest.raises(CanonOpsError) as caught:
        site.install()

    assert caught.value.line == 2
    assert site.read()[0] == 'plugins:\n  enabled: "borgee, other"\n'


def test_what_was_shown_is_what_is_done(site: Site) -> None:
    """A file that changed after the plan stops everything; the other file is not written either."""
    options = InstallOptions(python=site.python)
    site.write("a: 1\n")
    plan = plan_install(site.home, site.environ, options)
    site.write("a: 2\n")

    with pytest.raises(ChangedUnderUs):
        carry_out(plan, site.environ, Unattended())

    assert site.read() == ("a: 2\n", None)


def test_the_host_has_the_last_word(site: Site) -> None:
    """When its own loader does not load the plugin, the command fails and says which question to ask next."""
    put_loader(site.python, [LOADED | {"enabled": False, "error": "no register function"}])

    with pytest.raises(InstallNotVerified) as caught:
        site.install()

    assert "no register function" in caught.value.what
    assert caught.value.fix == "canon-ops doctor --area plugin"


def test_the_package_can_be_left_alone(site: Site) -> None:
    """``--skip-package`` edits the configuration and asks nobody about imports."""
    broken(site)
    put_loader(site.python, [])

    outcome = site.install(options=InstallOptions(skip_package=True))

    assert (outcome.plan.package, outcome.verified) == (None, ())
    assert read_config(site.home.config_file).enabled_plugins == ("canon-hermes",)


def test_two_ways_of_access_at_once_are_a_wrong_call(site: Site) -> None:
    """Everybody and a list cannot both be meant."""
    with pytest.raises(UsageError):
        site.install(options=InstallOptions(allow_all_users=True, allowed_users=("u1",)))


def test_a_running_gateway_is_to_be_restarted(site: Site) -> None:
    """With a credential and a live gateway the only step left is the restart, until somebody has done it (BR-31)."""
    site.write()
    site.home.path.joinpath("gateway_state.json").write_text(
        json.dumps({"pid": os.getppid(), "gateway_state": "running", "platforms": {}})
    )
    canon = site.user / ".canon"
    canon.mkdir()
    canon.joinpath("agents.json").write_bytes(as_file(ops=profile_entry()))

    first, second = site.install(), site.install()
    site.home.gateway_state_file.unlink()
    without = site.install()

    by_hand = "stop it where it runs (Ctrl-C), then start it there: hermes gateway run"
    assert (first.changed, second.changed) == (True, False)
    assert (first.next_steps, second.next_steps, without.next_steps) == (
        (by_hand,),
        (by_hand,),
        ("hermes gateway run",),
    )


def test_the_next_steps_are_aimed_at_the_profile(site: Site) -> None:
    """A profile that was asked for by name stays in every command that is advised."""
    site.home.path.joinpath("profiles", "work").mkdir(parents=True)
    home = resolve_home(site.environ, profile="work")

    outcome = install(home, site.environ, InstallOptions(python=site.python), Unattended())

    assert outcome.next_steps == ("canon-ops setup canon --profile work", "hermes --profile work gateway run")
    assert (home.path / "config.yaml").exists()
    assert not site.home.config_file.exists()


def test_no_neighbour_of_a_changed_line_gives_a_key_away(site: Site) -> None:
    """The shown diff of .env holds the changed lines alone, and none of their neighbours."""
    site.write(env="CANON_API_KEY=agk_live_0123456789abcdef\n")
    prompts = Person(yes=True)

    install(
        site.home,
        site.environ,
        InstallOptions(python=site.python),
        prompts,
        mask=lambda line: line.replace("agk_live_0123456789abcdef", "[REDACTED]"),
        show_diff=True,
    )

    told = "\n".join(prompts.told)
    assert "agk_live_0123456789abcdef" not in told
    assert "+CANON_ALLOW_ALL_USERS=true" in told


@pytest.mark.host
def test_the_real_host_loads_what_was_installed(tmp_path: Path) -> None:
    """In the running interpreter's own Hermes the plugin is enabled, imported and registered without an error."""
    environ = clean_environ(HOME=str(tmp_path))
    home = resolve_home(environ)

    outcome = install(home, environ, InstallOptions(), Unattended())

    assert outcome.verified == ("Hermes loads canon-hermes from its entrypoint.",)
    assert sorted(path.name for path in home.path.iterdir() if path.name != ".canon-ops") == [".env", "config.yaml"]


@pytest.mark.parametrize("names", PLATFORMS.values(), ids=PLATFORMS)
def test_the_plan_is_about_the_platform_that_is_installed(names: PlatformNames, site: Site) -> None:
    """Its first sentence says with which platform this Hermes was tried, and names no other."""
    prompts = Person(yes=True)

    site.install(prompts, InstallOptions(platform=names, skip_package=True), dry_run=True)

    (tried,) = [sentence for sentence in prompts.told if "was tried with" in sentence]
    assert tried.endswith(f"this combination was tried with {names.label}.")
