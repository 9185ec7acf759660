"""The home is the one that the real ``hermes`` command uses: most cases run it beside ours and compare."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from canon_ops.hermes.home_need import HomeSeen, look_at
from canon_ops.hermes.homes import BadProfileName, HomeChoice, HomeInACircle, UnknownProfile, resolve_home
from tests.support.hosts import THIS_HOST

HERMES = Path(sys.executable).parent / "hermes"


@dataclass(frozen=True)
class Person:
    """A user's folder with helpers to furnish it."""

    folder: Path

    @property
    def hermes(self) -> Path:
        return self.folder / ".hermes"

    def profile(self, name: str, root: Path | None = None) -> Path:
        folder = (root or self.hermes) / "profiles" / name
        folder.mkdir(parents=True)
        folder.joinpath("config.yaml").touch()  # as every profile that Hermes made has one; 0.22 looks for it
        return folder

    def stick(self, text: str, root: Path | None = None) -> None:
        (root or self.hermes).mkdir(parents=True, exist_ok=True)
        (root or self.hermes).joinpath("active_profile").write_text(text)

    def environ(self, **more: str) -> dict[str, str]:
        return {"HOME": str(self.folder), "PATH": os.environ["PATH"], **more}


@pytest.fixture
def person(tmp_path: Path) -> Person:
    folder = tmp_path / "person"
    folder.mkdir()
    return Person(folder)


def real_hermes(
    environ: Mapping[str, str], *arguments: str, cwd: Path, words: Sequence[str] = ("config", "path")
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(HERMES), *arguments, *words],
        env=dict(environ),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


Furnish = Callable[[Person], tuple[dict[str, str], str | None]]


def nothing_set(person: Person) -> tuple[dict[str, str], str | None]:
    return person.environ(), None


def custom_root(person: Person) -> tuple[dict[str, str], str | None]:
    return person.environ(HERMES_HOME=str(person.folder / "data")), None


def blanks_around_the_variable(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work", person.folder / "data")
    person.stick("work", person.folder / "data")
    return person.environ(HERMES_HOME=f"{person.folder / 'data'} "), None


def only_blanks(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work")
    person.stick("work")
    return person.environ(HERMES_HOME="  "), None


def sticky(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work")
    person.stick("work\n")
    return person.environ(), None


def sticky_in_capitals(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work")
    person.stick(" Work ")
    return person.environ(), None


def sticky_default(person: Person) -> tuple[dict[str, str], str | None]:
    person.stick("Default")
    return person.environ(), None


def sticky_of_a_custom_root(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("x", person.folder / "data")
    person.stick("x", person.folder / "data")
    return person.environ(HERMES_HOME=str(person.folder / "data")), None


def sticky_beats_a_home_inside_the_root(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work")
    person.stick("work")
    return person.environ(HERMES_HOME=str(person.hermes / "other")), None


def profile_shaped_variable_beats_sticky(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work")
    person.stick("work")
    return person.environ(HERMES_HOME=str(person.profile("home"))), None


def supervised(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work")
    person.stick("work")
    return person.environ(HERMES_S6_SUPERVISED_CHILD="1"), None


SUPERVISORS = (
    {"HERMES_SUPERVISED_CHILD": "1"},
    {"HERMES_SUPERVISED_CHILD": "0"},
    {"HERMES_GATEWAY_EXTERNAL_SUPERVISOR": " Yes "},
    {"HERMES_GATEWAY_EXTERNAL_SUPERVISOR": "0"},
    {"INVOCATION_ID": "5b1f"},
)
"""What 0.21 looks at beside the S6 marker."""


def damaged_sticky(person: Person) -> tuple[dict[str, str], str | None]:
    person.stick("")
    person.hermes.joinpath("active_profile").write_bytes(b"\xff\xfe")
    return person.environ(), None


def option(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work")
    person.profile("home")
    person.stick("home")
    return person.environ(), "work"


def option_default_beats_sticky(person: Person) -> tuple[dict[str, str], str | None]:
    person.profile("work")
    person.stick("work")
    return person.environ(), "default"


def option_from_inside_a_profile(person: Person) -> tuple[dict[str, str], str | None]:
    root = person.folder / "data"
    person.profile("work", root)
    return person.environ(HERMES_HOME=str(person.profile("home", root))), "work"


EACH = [pytest.mark.long, pytest.mark.everywhere]
"""Where the answer of the real Hermes is one of a kind that another row asks for already."""

STICKS = pytest.mark.skipif(THIS_HOST.trims_home, reason="this Hermes obeys the sticky choice there")


@pytest.mark.host
@pytest.mark.parametrize(
    "furnish",
    [
        nothing_set,
        pytest.param(custom_root, marks=EACH),
        pytest.param(blanks_around_the_variable, marks=STICKS),
        pytest.param(only_blanks, marks=[*EACH, STICKS]),
        sticky,
        pytest.param(sticky_in_capitals, marks=EACH),
        pytest.param(sticky_default, marks=EACH),
        pytest.param(sticky_of_a_custom_root, marks=EACH),
        pytest.param(
            sticky_beats_a_home_inside_the_root,
            marks=pytest.mark.skipif(THIS_HOST.inner_home_is_root, reason="this Hermes refuses to start there"),
        ),
        profile_shaped_variable_beats_sticky,
        pytest.param(supervised, marks=EACH),
        pytest.param(damaged_sticky, marks=EACH),
        pytest.param(option, marks=EACH),
        option_default_beats_sticky,
        option_from_inside_a_profile,
    ],
)
def test_the_home_is_the_one_of_the_hermes_command(furnish: Furnish, person: Person) -> None:
    """The config file of the resolved home is the one that ``hermes config path`` prints."""
    environ, profile = furnish(person)

    home = resolve_home(environ, profile=profile)
    answer = real_hermes(environ, *([f"--profile={profile}"] if profile else []), cwd=person.folder)

    assert (answer.returncode, answer.stdout.strip()) == (0, str(home.config_file)), answer.stderr


@pytest.mark.parametrize("marker", SUPERVISORS, ids=lambda marker: "".join(f"{k}={v}" for k, v in marker.items()))
def test_a_supervised_process_stays_where_it_was_started(marker: dict[str, str], person: Person) -> None:
    """Whatever the host's version; only a Hermes that knows the marker sets it (decision record 0081)."""
    person.profile("work")
    person.stick("work")

    home = resolve_home(person.environ(**marker))

    stays = "HERMES_SUPERVISED_CHILD" in marker or marker.get("HERMES_GATEWAY_EXTERNAL_SUPERVISOR") == " Yes "
    assert home.path == (person.hermes if stays else person.hermes / "profiles" / "work")


@pytest.mark.host
@pytest.mark.everywhere
@pytest.mark.skipif(not THIS_HOST.knows_every_supervisor, reason="this Hermes obeys the S6 marker alone")
@pytest.mark.parametrize("marker", SUPERVISORS, ids=lambda marker: "".join(f"{k}={v}" for k, v in marker.items()))
def test_a_supervised_process_is_where_hermes_takes_it_to_be(marker: dict[str, str], person: Person) -> None:
    """The markers of 0.21, beside the real ``hermes config path``."""
    person.profile("work")
    person.stick("work")
    environ = person.environ(**marker)

    answer = real_hermes(environ, cwd=person.folder)

    assert (answer.returncode, answer.stdout.strip()) == (0, str(resolve_home(environ).config_file)), answer.stderr


@pytest.mark.host
@pytest.mark.parametrize(
    "furnish",
    [
        sticky,
        *(pytest.param(way, marks=EACH) for way in (sticky_of_a_custom_root, option_default_beats_sticky, nothing_set)),
    ],
)
def test_a_child_of_the_home_stays_there(furnish: Furnish, person: Person) -> None:
    """With the environment and arguments that the home gives, Hermes uses that home whatever the sticky choice says."""
    environ, _ = furnish(person)
    root = Path(environ.get("HERMES_HOME", person.hermes))

    for home in (resolve_home(environ, hermes_home=root), resolve_home(environ)):
        answer = real_hermes(home.environ(environ), *home.arguments(), cwd=person.folder)

        assert answer.stdout.strip() == str(home.config_file), answer.stderr


@pytest.mark.host
@pytest.mark.parametrize(
    ("sticky_text", "profile", "error"),
    [
        ("gone", None, UnknownProfile),
        ("no/slash", None, BadProfileName),
        ("root", None, BadProfileName),
        ("", "gone", UnknownProfile),
        ("", "sudo", BadProfileName),
        *(pytest.param("", name, BadProfileName, marks=EACH) for name in ("hermes", "test", "tmp", "a" * 65)),
        ("", "", None),
    ],
)
def test_where_hermes_refuses_so_do_we(
    sticky_text: str, profile: str | None, error: type[Exception] | None, person: Person
) -> None:
    """A profile that cannot be or does not exist is an error for both, never the default home."""
    person.stick(sticky_text)
    environ = person.environ()

    answer = real_hermes(environ, *([f"--profile={profile}"] if profile is not None else []), cwd=person.folder)

    assert answer.returncode == 1
    with pytest.raises(error or BadProfileName):
        resolve_home(environ, profile=profile)


@pytest.mark.host
def test_the_cure_for_a_sticky_choice_that_is_gone_cures_it(person: Person) -> None:
    """The host's own command follows the choice too, and ends there, unless it is told another profile."""
    person.stick("gone")
    environ = person.environ()
    with pytest.raises(UnknownProfile) as raised:
        resolve_home(environ)
    assert raised.value.fix == "hermes -p default profile use default"

    done = real_hermes(environ, *raised.value.fix.split()[1:3], cwd=person.folder, words=raised.value.fix.split()[3:])

    assert done.returncode == 0, done.stderr
    assert resolve_home(environ).profile_name == "default"


@pytest.mark.parametrize("below", ["", "profiles/work", "deep/er"])
def test_a_home_behind_a_circle_of_links_is_refused_with_its_name(tmp_path: Path, below: str) -> None:
    """However it was chosen; the system would report it anew at every file."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    home = tmp_path / "a" / below
    (tmp_path / "person" / ".hermes").mkdir(parents=True)
    environ = {"HOME": str(tmp_path / "person")}

    for more, chosen in (({}, str(home)), ({"HERMES_HOME": str(home)}, None)):
        with pytest.raises(HomeInACircle) as raised:
            resolve_home({**environ, **more}, hermes_home=chosen)
        assert raised.value.file == str(home)


def test_the_reason_is_told(person: Person) -> None:
    """Each home says which rule chose it and which profile it is."""
    work = person.profile("work")
    person.stick("work")
    environ = person.environ()

    homes = [
        resolve_home(environ),
        resolve_home(environ, profile="default"),
        resolve_home(environ, hermes_home=person.hermes / "elsewhere"),
        resolve_home(person.environ(HERMES_HOME=str(work))),
    ]

    assert [(home.path, home.profile_name, home.how) for home in homes] == [
        (work, "work", HomeChoice.STICKY),
        (person.hermes, "default", HomeChoice.PROFILE_OPTION),
        (person.hermes / "elsewhere", "custom", HomeChoice.HOME_OPTION),
        (work, "work", HomeChoice.PROFILE_ENVIRONMENT),
    ]


def test_a_named_folder_needs_no_sticky_choice(person: Person) -> None:
    """``--hermes-home`` is taken as it is, although ``hermes`` would follow the sticky file inside it."""
    root = person.folder / "data"
    person.profile("x", root)
    person.stick("x", root)

    home = resolve_home(person.environ(), hermes_home=root)

    assert (home.path, home.arguments()) == (root, ("--profile", "default"))
    assert home.command("gateway run") == f"HERMES_HOME={root} hermes --profile default gateway run"


@pytest.mark.host
@pytest.mark.everywhere
@pytest.mark.skipif(not THIS_HOST.buries_profiles, reason="this Hermes leaves no tombstone")
def test_a_profile_that_hermes_deleted_is_gone_for_both(person: Person) -> None:
    """Deleted by the host's own command; a folder that comes back changes nothing, by option and by sticky choice."""
    person.profile("work")
    environ = person.environ()
    deleted = subprocess.run(
        [str(HERMES), "profile", "delete", "work", "--yes"],
        env=environ, cwd=person.folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert deleted.returncode == 0, deleted.stderr
    (person.hermes / "profiles" / "work").mkdir(exist_ok=True)

    for sticky_text, profile in (("", "work"), ("work", None)):
        person.stick(sticky_text)
        answer = real_hermes(environ, *([f"--profile={profile}"] if profile else []), cwd=person.folder)
        assert answer.returncode == 1, answer.stdout
        with pytest.raises(UnknownProfile):
            resolve_home(environ, profile=profile)

    there = person.environ(HERMES_HOME=str(person.hermes / "profiles" / "work"))
    written = subprocess.run(
        [str(HERMES), "config", "set", "a", "1"],
        env=there, cwd=person.folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (written.returncode, look_at(resolve_home(there))) == (1, HomeSeen.DELETED)


def test_a_deleted_profile_does_not_exist(person: Person) -> None:
    """The tombstone that newer hosts leave counts, whatever the version of the one that is here."""
    person.profile("work")
    tombstone = person.hermes / "profiles" / ".deleted" / "work"
    tombstone.parent.mkdir()
    tombstone.write_text("deleted\n")

    with pytest.raises(UnknownProfile):
        resolve_home(person.environ(), profile="work")


@pytest.mark.parametrize(
    ("variable", "marker", "manager"),
    [
        (None, None, None),
        ("true", None, "NixOS"),
        ("homebrew", None, "Homebrew"),
        ("our-deploy", None, "our-deploy"),
        (None, "", "NixOS"),
        (None, "home-manager\n", "home-manager"),
    ],
)
def test_a_managed_home_names_its_manager(
    variable: str | None, marker: str | None, manager: str | None, person: Person
) -> None:
    """Either signal of a package manager's write lock is seen, and who holds it is said."""
    person.hermes.mkdir()
    if marker is not None:
        person.hermes.joinpath(".managed").write_text(marker)

    home = resolve_home(person.environ(**({"HERMES_MANAGED": variable} if variable else {})))

    assert (home.managed_by, home.is_managed) == (manager, manager is not None)
