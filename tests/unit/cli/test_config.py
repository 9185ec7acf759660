"""``canon-ops config`` as a command: whole outputs in an isolated home. The editor has its own tests."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Runner

CONFIG = """\
# kept by hand
plugins:
  enabled:   # mine
    - borgee
platforms:
  canon: {enabled: yes, token: hunter2hunter2}
  other:
    api_key: another-secret
streaming:
  edit_interval: 0.1   # seconds
"""


@pytest.fixture
def config(home: Path) -> Path:
    """The config.yaml of the default profile, written by hand."""
    (home / ".hermes").mkdir()
    file = home / ".hermes" / "config.yaml"
    file.write_text(CONFIG)
    return file


@pytest.mark.parametrize(
    ("key", "out"),
    [
        ("plugins.enabled", '["borgee"]\n'),
        ("plugins.enabled[0]", "borgee\n"),
        ("streaming.edit_interval", "0.1\n"),
        ("platforms.canon.enabled", "true\n"),
    ],
)
def test_get_prints_what_hermes_reads(program: Runner, config: Path, key: str, out: str) -> None:
    """Text as it is, everything else as JSON; YAML 1.1 words are what Hermes takes them for."""
    ran = program("config", "get", key)

    assert (ran.code, ran.out, ran.err) == (0, out, "")


def test_get_keeps_the_line_ends_of_a_text(program: Runner, config: Path) -> None:
    """A block of text arrives as it is, so that a shell can catch it."""
    config.write_text("a: |\n  one\n  two\n")

    assert program("config", "get", "a").out == "one\ntwo\n\n"


def test_get_of_an_absent_key_is_exit_1(program: Runner, config: Path) -> None:
    """A sentence on stderr, nothing on stdout; in JSON the same as data and as an error."""
    ran, document = program("config", "get", "a.b"), program("config", "get", "a.b", "--json").json

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"Error: a.b is not set in {config}.\n  fix: canon-ops config set a.b VALUE\n"
    assert document["data"] == {
        "path": "a.b",
        "found": False,
        "value": None,
        "file": str(config),
        "line": None,
        "masked": False,
    }
    assert [error["code"] for error in document["errors"]] == ["config_absent"]


@pytest.mark.parametrize("form", ["--json", "--plain", "terminal"])
@pytest.mark.parametrize("key", ["platforms", "platforms.canon.token", "platforms.other"])
def test_get_never_shows_a_secret(program: Runner, config: Path, key: str, form: str) -> None:
    """Values behind telling names are masked, at any depth, in every form of output."""
    ran = program("config", "get", key, terminal=True) if form == "terminal" else program("config", "get", key, form)

    assert "hunter2" not in ran.out
    assert "another-secret" not in ran.out
    if (key, form) == ("platforms.canon.token", "--plain"):  # no mark that a script would take for the key
        assert (ran.code, ran.out) == (1, "")
        assert f"fix: read it in the file: {config}:6" in ran.err
    else:
        assert ran.code == 0
        assert "[REDACTED]" in ran.out


SERVER = """\
mcp:
  url: https://u:hunter2@example.com/x
  headers: {Authorization: Basic abc}
  api_key: shrt1
  args: [--token, abc12, --password=foo12]
  env: {GH_PAT: "98765"}
"""


@pytest.mark.parametrize("form", ["--json", "--plain", "terminal"])
@pytest.mark.parametrize(
    "key", ["mcp", "mcp.url", "mcp.headers", "mcp.headers.Authorization", "mcp.api_key", "mcp.args", "mcp.args[1]",
            "mcp.args[2]", "mcp.env.GH_PAT"],
)  # fmt: skip
def test_get_masks_by_name_and_by_place(program: Runner, config: Path, key: str, form: str) -> None:
    """Short values too: a URL's password, what follows an argument that tells, a header."""
    config.write_text(SERVER)

    ran = program("config", "get", key, terminal=True) if form == "terminal" else program("config", "get", key, form)

    assert not any(part in ran.out + ran.err for part in ("hunter2", "Basic", "shrt1", "abc12", "foo12", "98765"))
    if form == "--json":
        assert ran.json["data"]["masked"] is True


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mcp.api_key", "newkey99"),
        ("mcp.headers.Authorization", "Bearer newkey99"),
        ("mcp.url", "https://u:newkey99@example.com"),
        ("mcp.args[1]", "newkey99"),
        ("mcp.args[2]", "--password=newkey99"),
        ("mcp", '{"token": "newkey99"}'),
    ],
)
def test_a_secret_is_no_argument(program: Runner, config: Path, key: str, value: str) -> None:
    """By name and by place; it comes from stdin instead, and neither answer nor diff shows it."""
    config.write_text(SERVER)
    kind = ("--type", "json") if value.startswith("{") else ()

    refused = program("config", "set", *kind, "--", key, value)
    untouched = config.read_text()
    done = program("config", "set", key, "--stdin", "--diff", *kind, stdin=f"{value}\n")

    assert (refused.code, untouched) == (2, SERVER)
    assert f"fix: canon-ops config set {shlex.quote(key)}   # or --stdin" in refused.err
    assert done.code == 0
    assert "newkey99" in config.read_text()
    assert "newkey99" not in refused.out + refused.err + done.out + done.err


def test_an_item_behind_a_telling_argument_is_no_argument(program: Runner, config: Path) -> None:
    """``config add`` has no other way for it; a reference to a variable is welcome."""
    config.write_text("args: [--token]\n")

    refused, done = program("config", "add", "args", "abc12"), program("config", "add", "args", "${GH_TOKEN}")

    assert (refused.code, done.code) == (2, 0)
    assert config.read_text() == "args: [--token, '${GH_TOKEN}']\n"


@pytest.mark.parametrize("value", ["${MCP_KEY}", "null"])
def test_a_reference_is_no_secret(program: Runner, config: Path, value: str) -> None:
    """It names where the key is, and is shown."""
    done, got = program("config", "set", "mcp.api_key", value), program("config", "get", "mcp.api_key")

    assert (done.code, got.code, got.out) == (0, 0, f"{value}\n")


def test_a_password_of_digits_stays_text(program: Runner, config: Path) -> None:
    """From stdin a secret is text, whatever it looks like; without any source the options are named."""
    asked = program("config", "set", "mcp.password", "--no-input")
    done = program("config", "set", "mcp.password", "--stdin", stdin="0123\n")

    assert asked.code == 2
    assert "fix: add --stdin, --from-file FILE or --from-env NAME" in asked.err
    assert done.code == 0
    assert "password: '0123'" in config.read_text() or 'password: "0123"' in config.read_text()


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_comparison_masks_by_place(program: Runner, config: Path, form: tuple[str, ...]) -> None:
    """Values and lines alike."""
    config.write_text(SERVER)
    program("config", "set", "a", "1")
    config.write_text(config.read_text().replace("abc12", "abc34").replace("hunter2", "hunter3"))

    ran = program("config", "diff", "--values", *form)
    lines = program("config", "diff", *form)

    assert "mcp.url" in ran.out
    for out in (ran.out, lines.out):
        assert not any(part in out for part in ("hunter2", "hunter3", "abc12", "abc34", "shrt1", "foo12"))


def test_set_changes_one_line_and_says_so(program: Runner, config: Path) -> None:
    """The report names profile and file first, then the change; --diff shows it, comment kept."""
    ran = program("config", "set", "streaming.edit_interval", "0.25", "--diff")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"Hermes profile default: {config}\n"
        "Changed streaming.edit_interval: 0.1 -> 0.25\n"
        f"--- {config}\n+++ {config}\n"
        "@@ -7,4 +7,4 @@\n"
        "   other:\n"
        "     api_key: [REDACTED]\n"
        " streaming:\n"
        "-  edit_interval: 0.1   # seconds\n"
        "+  edit_interval: 0.25   # seconds\n"
    )
    assert config.read_text() == CONFIG.replace("0.1 ", "0.25 ")


def test_set_answers_scripts_with_before_and_after(program: Runner, config: Path) -> None:
    """The JSON document holds both values, the files, the diff and what undo takes."""
    data = program("config", "set", "streaming.edit_interval", "0.25", "--json").json["data"]

    assert data["history_id"]
    assert {name: data[name] for name in ("path", "before", "after", "changed", "files", "dry_run")} == {
        "path": "streaming.edit_interval",
        "before": 0.1,
        "after": 0.25,
        "changed": True,
        "files": [str(config)],
        "dry_run": False,
    }


def test_a_dry_run_shows_everything_and_writes_nothing(program: Runner, config: Path) -> None:
    """The same report in the conditional, no history, bytes and mtime untouched, no folder made."""
    before = config.stat()

    ran = program("config", "add", "plugins.enabled", "canon-hermes", "--dry-run")

    assert ran.out == (
        f'Hermes profile default: {config}\nWould change plugins.enabled: ["borgee"] -> ["borgee", "canon-hermes"]\n'
    )
    assert (config.read_text(), config.stat().st_mtime_ns) == (CONFIG, before.st_mtime_ns)
    assert [path.name for path in config.parent.iterdir()] == ["config.yaml"]


def test_no_change_is_said_and_leaves_the_file_alone(program: Runner, config: Path) -> None:
    """An item that is there already is added once only."""
    before = config.stat().st_mtime_ns

    ran = program("config", "add", "plugins.enabled", "borgee", "--diff")

    assert ran.code == 0
    assert ran.out == (f'Hermes profile default: {config}\nplugins.enabled is already ["borgee"]; nothing to change.\n')
    assert config.stat().st_mtime_ns == before


def test_a_home_without_configuration_gets_one(program: Runner, home: Path) -> None:
    """The file is made, private."""
    ran = program("config", "add", "plugins.enabled", "canon-hermes")

    file = home / ".hermes" / "config.yaml"
    assert ran.code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert "canon-hermes" in file.read_text()


@pytest.mark.parametrize("form", ["bare", "relative", "absolute"])
def test_if_unchanged_holds_the_file_to_a_digest(program: Runner, config: Path, form: str) -> None:
    """With the right digest the edit is made; with another one it is exit 5 and nothing happens."""
    prefix = {"bare": "", "relative": "config.yaml=", "absolute": f"{config}="}[form]
    right = hashlib.sha256(config.read_bytes()).hexdigest()

    refused = program("config", "set", "a", "1", "--if-unchanged", f"{prefix}{'0' * 64}")
    unchanged = config.read_text()
    done = program("config", "set", "a", "1", "--if-unchanged", f"{prefix}{right.upper()}")

    assert (refused.code, unchanged) == (5, CONFIG)
    assert refused.err.startswith(f"Error: {config} is not the file that was expected")
    assert done.code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("set", "a", "1", "--if-unchanged", "abc"), 2, "'abc' is not a SHA-256 (64 hexadecimal digits)."),
        (("set", "a", "1", "--if-unchanged", f".env={'0' * 64}"), 2, "This command does not change "),
        (("set", "a", "-1"), 2, "No such option: -1."),
        (("set", "a", "x", "--type", "int"), 2, "'x' is not a value of the type int"),
        (("set", "a", "[" * 9000, "--type", "json"), 2, "'" + "[" * 80 + "…' is not a value of the type json"),
        (("set", "a..b", "1"), 2, "'a..b' is not a path"),
        (("set", "platforms.canon.api_key", "x"), 2, "platforms.canon.api_key is secret"),
        (("set", "platforms.canon.extra.turn_verbosity", "loud"), 2, "platforms.canon.extra.turn_verbosity cannot be"),
        (("add", "streaming", "x"), 1, "streaming holds a mapping, where Hermes wants a list."),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, tuple) else "",
)
def test_a_refusal_has_its_code_and_leaves_the_file(
    program: Runner, config: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    """One sentence on stderr, nothing on stdout, not a byte changed."""
    ran = program("config", *words)

    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"Error: {message}")
    assert config.read_text() == CONFIG


def test_a_value_with_a_dash_follows_the_end_of_options(program: Runner, config: Path) -> None:
    """``--`` lets it through as a value."""
    assert program("config", "set", "a", "--", "-1").code == 0
    assert program("config", "get", "a").out == "-1\n"


def test_a_broken_file_is_left_alone_with_its_place(program: Runner, config: Path) -> None:
    """Line and column of the fault, exit 1, the bytes as they were."""
    config.write_text("a: [1\nb: 2\n")

    ran = program("config", "set", "a", "1", "--json")

    assert ran.code == 1
    assert ran.json["errors"][0]["file"] == str(config)
    assert ran.json["errors"][0]["line"] is not None
    assert config.read_text() == "a: [1\nb: 2\n"


def test_a_managed_home_is_refused(program: Runner, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who manages it is named; nothing is written."""
    monkeypatch.setenv("HERMES_MANAGED", "nixos")

    ran = program("config", "set", "a", "1")

    assert (ran.code, ran.out) == (1, "")
    assert "NixOS" in ran.err
    assert config.read_text() == CONFIG


def test_another_home_and_another_profile(program: Runner, config: Path, tmp_path: Path) -> None:
    """--hermes-home and --profile choose the file; both are named in the report."""
    other = tmp_path / "other"
    (config.parent / "profiles" / "work").mkdir(parents=True)
    other.mkdir()
    (other / "SOUL.md").touch()

    in_other = program("config", "set", "a", "1", "--hermes-home", str(other))
    in_profile = program("config", "set", "a", "1", "-p", "work")

    assert in_other.out.splitlines()[0].endswith(f": {other / 'config.yaml'}")
    assert in_profile.out.splitlines()[0] == (
        f"Hermes profile work: {config.parent / 'profiles' / 'work' / 'config.yaml'}"
    )
    assert config.read_text() == CONFIG


def test_a_home_that_is_not_there_answers_nothing(program: Runner, home: Path) -> None:
    """A mistyped home is no home without the key: exit 3, and how it was chosen."""
    ran = program("config", "get", "a", "--hermes-home", str(home / "nope"))

    assert (ran.code, ran.out) == (3, "")
    assert f"There is no Hermes home {home / 'nope'}; it was chosen by --hermes-home." in ran.err
    assert "  fix: " in ran.err


def test_a_wrong_digest_is_answered_in_the_words_of_its_command(program: Runner, config: Path) -> None:
    """A usage error that an option finds by itself has the command's own schema."""
    ran = program("config", "set", "a", "1", "--if-unchanged", "zz", "--json")

    assert (ran.code, ran.json["schema"]) == (2, "canon-ops.config.set/1")


@pytest.mark.parametrize(
    ("key", "near"),
    [("plugin.enabled", "plugins.enabled"), ("plugins.enabled", None), ("my.own.key", None)],
)
def test_a_key_that_is_almost_a_known_one_is_noticed(program: Runner, config: Path, key: str, near: str | None) -> None:
    """It is set as asked, since Hermes takes any key, and a word says which one may have been meant."""
    ran = program("config", "set", key, '["borgee"]', "--type", "json")

    assert ran.code == 0
    assert ("Hint:" in ran.err) is (near is not None)
    assert near is None or f"{near} is." in ran.err


def test_what_an_alias_repeats_is_named(program: Runner, config: Path) -> None:
    """An edit at the anchor changes more than one path, and says which."""
    config.write_text("a: &m\n  k: 1\nb: *m\n")

    planned, done = program("config", "set", "a.k", "2", "--dry-run"), program("config", "set", "a.k", "2", "--json")

    assert "An alias repeats it, so these would change too: b.k" in planned.out
    assert done.json["data"]["repeated"] == ["b.k"]


def test_a_link_is_named_with_the_file_that_is_written(program: Runner, config: Path) -> None:
    """The real one behind it; the link stays."""
    real = config.with_name("real.yaml")
    config.rename(real)
    config.symlink_to(real.name)

    ran = program("config", "set", "a", "1")

    assert ran.out.splitlines()[0] == f"Hermes profile default: {config} -> {real}"
    assert config.is_symlink()


def test_a_link_that_leads_nowhere_is_named(program: Runner, config: Path) -> None:
    """Nothing is set there, and the reason is told."""
    config.unlink()
    config.symlink_to("gone.yaml")

    ran = program("config", "get", "a")

    assert ran.code == 1
    assert f"a is not set in {config}, a link to gone.yaml, which does not exist." in ran.err


def test_nothing_and_null_are_two(program: Runner, config: Path) -> None:
    """For scripts: what was there, when the value before is null."""
    config.write_text("a: null\nc: 1\n")

    null = program("config", "set", "a", "1", "--json").json["data"]
    absent = program("config", "set", "b", "null", "--json").json["data"]
    gone = program("config", "unset", "c", "--json").json["data"]
    config.write_text("a: null\nd: 2\n")
    values = program("config", "diff", "--json").json["data"]["values"]

    assert [(each["before"], each["was_set"], each["is_set"]) for each in (null, absent, gone)] == [
        (None, True, True),
        (None, False, True),
        (1, True, False),
    ]
    assert {each["path"]: each["kind"] for each in values} == {"a": "changed", "b": "removed", "d": "added"}


def test_an_undo_that_is_refused_names_the_newer_change(program: Runner, config: Path) -> None:
    """Which is taken back first; what others wrote is left to a person."""
    first = program("config", "set", "a", "1", "--json").json["data"]["history_id"]
    second = program("config", "set", "b", "1", "--json").json["data"]["history_id"]

    refused = program("undo", first)
    config.write_text("a: 1\n")
    by_hand = program("undo", first)

    assert (refused.code, by_hand.code) == (5, 5)
    assert f"fix: canon-ops undo {second}" in refused.err
    assert f"fix: canon-ops history show {first}" in by_hand.err


@pytest.mark.parametrize(
    "words", [("set", "streaming.edit_interval.x", "1"), ("set", "streaming[0]", "1"), ("add", "streaming", "x")]
)
def test_a_value_of_another_kind_has_a_cure(program: Runner, config: Path, words: tuple[str, ...]) -> None:
    """What to look at, or what to name instead."""
    ran = program("config", *words)

    assert ran.code == 1
    assert "fix: " in ran.err


@pytest.mark.parametrize("command", [("config", "set", "a.b"), ("env", "set", "A_B")])
def test_nothing_is_asked_for_a_home_that_cannot_be_had(program: Runner, command: tuple[str, ...]) -> None:
    """The missing profile is told before anybody types a value for it, with and without somebody to ask."""
    for terminal in (False, True):
        ran = program(*command, "-p", "nobody", terminal=terminal)

        assert ran.code == 1
        assert "The Hermes profile 'nobody' does not exist" in " ".join(ran.err.split())


def test_nothing_is_asked_for_a_managed_home(program: Runner, config: Path) -> None:
    """What may not be written needs no value."""
    (config.parent / ".managed").write_text("nix")

    ran = program("config", "set", "a.b")

    assert "is managed by" in ran.err
