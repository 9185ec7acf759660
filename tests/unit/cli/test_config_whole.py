"""The commands on the configuration as a whole: list, validate, diff, edit, recommend, snapshot, heal."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Runner

CONFIG = """\
# owner: ops team
plugins:
  # reviewed 2026-03
  enabled: [borgee]   # keep sorted
platforms:
  canon:
    api_key: secret-one-two
    enabled: true
streaming:
  enabled: true   # since May
"""


@pytest.fixture
def config(home: Path) -> Path:
    (home / ".hermes").mkdir()
    file = home / ".hermes" / "config.yaml"
    file.write_text(CONFIG)
    return file


def strip(config: Path, **changes: object) -> None:
    """What Hermes does when it saves: values only, sorted."""
    config.write_text(yaml.safe_dump({**yaml.safe_load(config.read_text()), **changes}))


# -- unset, remove, --convert, --allow-reformat --------------------------------------------------------------


def test_unset_removes_a_key_with_its_comment(program: Runner, config: Path) -> None:
    """The rest keeps its bytes; a key that is not there is no change."""
    ran, again = program("config", "unset", "streaming"), program("config", "unset", "streaming")

    assert ran.out.splitlines()[1] == 'Removed streaming: it was {"enabled": true}'
    assert again.out.splitlines()[1] == "streaming is not set; nothing to change."
    assert config.read_text() == CONFIG.partition("streaming")[0]


def test_a_list_that_remove_takes_away_is_unset_and_not_null(program: Runner, config: Path) -> None:
    """The list that an ``add`` made goes with its last item, and a list that is not there is said not to be."""
    original = config.read_bytes()
    program("config", "add", "toolsets", "web")

    gone, again = program("config", "remove", "toolsets", "web"), program("config", "remove", "toolsets", "web")

    assert gone.out.splitlines()[1] == 'Changed toolsets: ["web"] -> unset'
    assert again.out.splitlines()[1] == "toolsets is not set; nothing to change."
    assert config.read_bytes() == original


def test_remove_takes_an_item_out(program: Runner, config: Path) -> None:
    """The comment beside the list stays; an item that is not there is no change."""
    ran, again = (
        program("config", "remove", "plugins.enabled", "borgee"),
        program("config", "remove", "plugins.enabled", "borgee"),
    )

    assert ran.out.splitlines()[1] == 'Changed plugins.enabled: ["borgee"] -> []'
    assert again.out.splitlines()[1] == "plugins.enabled is already []; nothing to change."
    assert config.read_text() == CONFIG.replace("[borgee]", "[]")


def test_a_text_becomes_a_list_only_when_asked(program: Runner, config: Path) -> None:
    """Without --convert it is refused, and the refusal names the option."""
    config.write_text('plugins:\n  enabled: "a, b"  # mine\n')

    refused = program("config", "add", "plugins.enabled", "c")
    done = program("config", "add", "plugins.enabled", "c", "--convert")

    assert refused.code == 1
    assert "fix: --convert turns it into a list" in refused.err
    assert done.out.splitlines()[1] == 'Changed plugins.enabled: "a, b" -> ["a", "b", "c"]'
    assert yaml.safe_load(config.read_text()) == {"plugins": {"enabled": ["a", "b", "c"]}}
    assert "# mine" in config.read_text()


def test_a_reformat_is_shown_and_agreed_to(program: Runner, config: Path) -> None:
    """Where bytes cannot be kept: refused, offered with its difference, made with --yes."""
    config.write_text("a: |\n  text")  # a block text at the end, without a line end
    refused = program("config", "set", "b", "1")
    offered = program("config", "set", "b", "1", "--allow-reformat")
    unchanged = config.read_text()
    done = program("config", "set", "b", "1", "--allow-reformat", "--yes")

    assert (refused.code, offered.code, unchanged) == (1, 2, "a: |\n  text")
    assert "+b: 1" in offered.err
    assert done.code == 0
    assert yaml.safe_load(config.read_text()) == {"a": "text", "b": 1}


# -- set: keys that nobody reads -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (
            "platforms.canon.base_url",
            "Warning: Hermes drops base_url here without a word: it stands directly below platforms.canon. "
            "platforms.canon.extra.base_url is read.\n",
        ),
        (
            "platforms.canon.display.streaming",
            "Warning: No audited Hermes reads display settings below platforms.canon. "
            "display.platforms.canon.streaming is read.\n",
        ),
        ("platforms.canon.custom", "Warning: Hermes drops custom here without a word: it stands directly below "
         "platforms.canon.\n"),
        ("plugin.enabled", "Hint: plugin.enabled is not a known key; plugins.enabled is.\n"),
        ("my.own.key", ""),
    ],
)  # fmt: skip
def test_set_warns_of_a_key_that_nobody_reads(program: Runner, config: Path, key: str, said: str) -> None:
    """It is set as asked, and the warning says where it would be read."""
    ran = program("config", "set", key, "x")

    assert (ran.code, ran.err) == (0, said)


@pytest.mark.parametrize("key", ["plugins.enabled[0]", "plugins.enabled.0"])
def test_an_item_of_a_known_list_is_no_misspelling(program: Runner, config: Path, key: str) -> None:
    """It is set as asked, and nothing is said of a key that is known."""
    config.write_text("plugins:\n  enabled: [a]\n")

    ran = program("config", "set", key, "x")

    assert (ran.code, ran.err) == (0, "")


# -- list, path, validate, diff ------------------------------------------------------------------------------


def test_list_shows_value_origin_and_advice(program: Runner, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of the file, a variable of .env, a default, a recommendation; keys are masked."""
    (config.parent / ".env").write_text("CANON_TURN_VERBOSITY=quiet\n")
    monkeypatch.setenv("CANON_BASE_URL", "https://canon.example")

    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in program("config", "list").out.splitlines()}

    assert rows["streaming.enabled"] == ["true", "line 10", ""]
    assert rows["platforms.canon.api_key"] == ["[REDACTED]", "line 7", ""]
    assert rows["platforms.canon.extra.turn_verbosity"] == ["quiet", "CANON_TURN_VERBOSITY in .env", ""]
    assert rows["platforms.canon.extra.base_url"] == [
        "https://canon.example", "CANON_BASE_URL (environment)", "",
    ]  # fmt: skip
    assert rows["streaming.transport"] == ["auto", "default", ""]
    assert rows["approvals.mode"] == ["", "unset", "recommended: manual"]
    assert not any("borgee" in key for key in rows)


def test_list_all_has_every_known_key(program: Runner, config: Path) -> None:
    """Of the platforms asked for, and of Hermes."""
    keys = [row["key"] for row in program("config", "list", "canon", "--all", "--json").json["data"]["keys"]]

    assert "kanban.dispatch_in_gateway" in keys
    assert "platforms.canon.extra.agent" in keys
    assert "borgee.base_url" not in keys


def test_list_never_shows_a_secret(program: Runner, config: Path) -> None:
    """Not in JSON either."""
    assert "secret-one-two" not in program("config", "list", "--json").out


def test_path_is_the_file_and_nothing_else(program: Runner, config: Path, home: Path) -> None:
    """For $(…); a link is followed in the JSON document."""
    config.rename(home / "real.yaml")
    config.symlink_to(home / "real.yaml")

    assert program("config", "path").out == f"{config}\n"
    assert program("config", "path", "--json").json["data"] == {
        "file": str(config), "real": str(home / "real.yaml"), "exists": True, "managed_by": None,
    }  # fmt: skip


def test_validate_judges_known_keys_only(program: Runner, config: Path) -> None:
    """Errors, warnings and hints with their lines, in the order of the file; exit 1 for an error."""
    config.write_text(
        "mine: {anything: goes}\n"
        "plugins:\n  enabled: a, b\n"
        "platforms:\n  canon:\n    enabled: 'false'\n    base_url: x\n"
        "plugin:\n  enabled: []\n"
        "approvals:\n  mode: off\n  timeout: 0600\n  timeout: 60\n"
    )

    ran = program("config", "validate", "--json")

    faults = [(f["severity"], f["code"], f["path"], f["line"]) for f in ran.json["data"]["faults"]]
    assert ran.code == 1
    assert faults == [
        ("error", "config_value", "plugins.enabled", 3),
        ("error", "config_value", "platforms.canon.enabled", 6),
        ("warning", "config_dropped_key", "platforms.canon.base_url", 7),
        ("info", "config_near_miss", "plugin.enabled", 9),
        ("warning", "config_value", "approvals.mode", 11),
        ("warning", "config_duplicate_key", "approvals.timeout", 12),
    ]
    fixes = {f["path"]: f["fix"] for f in ran.json["data"]["faults"]}
    assert fixes["plugins.enabled"] == 'canon-ops config set --type json plugins.enabled \'["a", "b"]\''
    assert fixes["plugin.enabled"] == "canon-ops config unset plugin.enabled"  # the right key has a value, which stays
    assert fixes["platforms.canon.base_url"] == (
        "canon-ops config set platforms.canon.extra.base_url x && canon-ops config unset platforms.canon.base_url"
    )
    assert fixes["platforms.canon.enabled"] == "canon-ops config set platforms.canon.enabled false"


@pytest.mark.parametrize(
    ("value", "severity", "status"),
    [
        ("'true'", "warning", "warning"),
        ("1", "warning", "warning"),
        ("'off'", "error", "error"),
        ("x", "error", "error"),
    ],
)
def test_a_platforms_switch_weighs_the_same_everywhere(
    program: Runner, config: Path, value: str, severity: str, status: str
) -> None:
    """BR-08: what Hermes takes for on all the same is a warning, what it takes for off an error; in doctor too."""
    config.write_text(f"platforms:\n  canon:\n    enabled: {value}\n")

    (fault,) = program("config", "validate", "--json").json["data"]["faults"]
    (check,) = program("doctor", "--only", "platform.enabled", "--offline", "--json").json["data"]["checks"]

    assert (fault["path"], fault["severity"], check["status"]) == ("platforms.canon.enabled", severity, status)


def test_validate_says_where_a_file_is_broken(program: Runner, config: Path) -> None:
    """The code of the fault, line and column, exit 1."""
    config.write_text("plugins:\n\tenabled: [borgee]\n")

    ran = program("config", "validate", "--json")

    (fault,) = ran.json["data"]["faults"]
    assert (ran.code, fault["code"], fault["line"], fault["column"]) == (1, "config_tabs", 2, 1)


def test_validate_names_a_link_that_leads_nowhere(program: Runner, config: Path) -> None:
    """Hermes runs on defaults there; whoever made the link meant a file."""
    config.unlink(missing_ok=True)
    config.symlink_to("/nonexistent/config.yaml")

    ran = program("config", "validate", "--json")

    (fault,) = ran.json["data"]["faults"]
    assert (ran.code, fault["severity"]) == (1, "error")
    assert "/nonexistent/config.yaml" in fault["message"]


def test_validate_is_content_with_a_good_file(program: Runner, config: Path) -> None:
    """Warnings do not count unless --strict."""
    assert program("config", "validate").out == f"{config} is as it should be.\n"
    config.write_text("platforms:\n  canon:\n    mine: 1\n")

    assert program("config", "validate").code == 0
    assert program("config", "validate", "--strict").code == 1


def test_diff_shows_what_others_did_since(program: Runner, config: Path) -> None:
    """Lines, and what Hermes reads differently; an older entry can be named."""
    first = program("config", "set", "a", "1", "--json").json["data"]["history_id"]
    nothing = program("config", "diff", "--json").json["data"]
    strip(config, a=2)
    program("config", "set", "b", "1")

    latest = program("config", "diff", "--json").json["data"]
    older = program("config", "diff", first, "--values")

    assert (nothing["since"], nothing["changed"], nothing["values"]) == (first, False, [])
    assert latest["changed"] is False
    assert older.out == "a\t1\t2\nb\tunset\t1\n"
    lines = program("config", "diff", first).out
    assert "-# owner: ops team\n" in lines
    assert "secret-one-two" not in lines


def test_diff_without_history_says_so(program: Runner, config: Path) -> None:
    """There is nothing to compare with."""
    ran = program("config", "diff")

    assert (ran.code, ran.out) == (0, f"The history has no text of {config}.\n")


# -- snapshot, heal ------------------------------------------------------------------------------------------


def test_snapshot_keeps_the_text(program: Runner, config: Path) -> None:
    """Digest and id are told; the file is not touched; a home without a file has nothing to keep."""
    before = config.stat().st_mtime_ns

    data = program("config", "snapshot", "--json").json["data"]

    assert data["sha256"] == hashlib.sha256(CONFIG.encode()).hexdigest()
    assert program("history", "list").out == f"{data['history_id']}\tconfig snapshot\tconfig.yaml\tkept\n"
    assert config.stat().st_mtime_ns == before
    config.unlink()
    assert program("config", "snapshot").code == 1


def test_heal_brings_the_comments_back(program: Runner, config: Path) -> None:
    """The difference is shown first; with consent it is written, and undo takes it back."""
    program("config", "snapshot")
    strip(config, onboarding={"seen": {"x": True}})
    stripped = config.read_text()

    asked = program("config", "heal")
    unchanged = config.read_text()
    done = program("config", "heal", "--yes", "--json")

    assert (asked.code, unchanged) == (2, stripped)
    assert "+# owner: ops team" in asked.err
    assert "secret-one-two" not in asked.err + done.out
    assert (done.json["data"]["back"], done.json["data"]["moved"]) == (4, [])
    assert config.read_text() == CONFIG + "onboarding:\n  seen:\n    x: true\n"
    again = program("config", "heal")
    assert (again.code, program("config", "heal", "--json").json["data"]["since"]) == (0, None)
    assert f"No comment of {config} is known to be missing." in again.out
    program("undo")
    assert config.read_text() == stripped
    assert program("config", "heal", "--dry-run", "--json").json["data"]["missing"] == 4


def test_a_heal_that_only_looks_says_which_comments_come_back(program: Runner, config: Path) -> None:
    """Each with its line in the new text, ten at most; the diff says more, so it says it alone."""
    commented = "".join(f"# about {n}\nkey{n}: {n}\n" for n in range(12))
    config.write_text(commented)
    program("config", "snapshot")
    config.write_text("".join(f"key{n}: {n}\n" for n in range(12)))

    told = program("config", "heal", "--dry-run", terminal=True).out
    data = program("config", "heal", "--dry-run", "--json").json["data"]
    with_diff = program("config", "heal", "--dry-run", "--diff").out

    assert "3  # about 1" in told
    assert "# about 10" not in told
    assert "And 2 more; --diff shows all." in told
    assert [(each["line"], each["text"]) for each in data["comments"]] == [
        (number, line) for number, line in enumerate(commented.splitlines(), 1) if line.startswith("#")
    ]
    assert with_diff.count("# about 11") == 1
    assert config.read_text().count("#") == 0


def test_heal_finds_a_loss_behind_later_edits(program: Runner, config: Path) -> None:
    """Hermes dropped the comments, we edited the stripped file twice: the commented text is still known."""
    program("config", "set", "a", "1")
    strip(config)
    program("config", "set", "b", "2")
    program("config", "unset", "a")

    ran = program("config", "heal", "--yes", "--json")

    assert ran.json["data"]["command"] == "config set a"
    assert config.read_text() == CONFIG + "b: 2\n"


def test_a_heal_offers_whatever_another_program_dropped(program: Runner, config: Path) -> None:
    """A single comment too, and also behind a snapshot; the doctor keeps silent about both, and says so."""
    program("config", "set", "a", "1")
    config.write_text(config.read_text().replace("   # since May", ""))
    one_less = program("config", "heal", "--dry-run", "--json").json["data"]
    quiet = program("doctor", "--only", "config.comments_lost", "-v")
    strip(config)
    warned = program("doctor", "--only", "config.comments_lost", "--strict")
    program("config", "snapshot")
    after_snapshot = program("config", "heal", "--dry-run", "--json").json["data"]
    accepted = program("doctor", "--only", "config.comments_lost", "--strict")

    assert [one_less["back"], after_snapshot["back"]] == [1, 4]
    assert [quiet.code, warned.code, accepted.code] == [0, 1, 0]
    assert "1 comment of before is not in config.yaml" in quiet.out


def test_what_our_own_edit_took_out_is_named(program: Runner, config: Path) -> None:
    """It is not missing, so there is nothing to do; the entry that has it is told by its real id."""
    identity = program("config", "snapshot", "--json").json["data"]["history_id"]
    program("config", "unset", "plugins")

    ran = program("config", "heal")

    assert ran.code == 0
    assert f"canon-ops config heal --since {identity}" in ran.out
    assert program("config", "heal", "--since", identity, "--yes").code == 0


def test_heal_takes_comments_from_a_named_entry(program: Runner, config: Path) -> None:
    """Whatever was found before; an entry of another file has none."""
    identity = program("config", "snapshot", "--json").json["data"]["history_id"]
    strip(config)
    program("config", "snapshot")

    assert program("config", "heal", "--since", identity, "--yes").code == 0
    assert config.read_text() == CONFIG


def test_heal_never_touches_a_broken_file(program: Runner, config: Path) -> None:
    """Exit 1 with the place of the fault."""
    program("config", "snapshot")
    config.write_text("a: [\n")

    ran = program("config", "heal", "--yes")

    assert (ran.code, config.read_text()) == (1, "a: [\n")


# -- recommend, edit -----------------------------------------------------------------------------------------


def test_recommend_proposes_and_changes_with_consent(program: Runner, config: Path) -> None:
    """A dry run lists; without consent it is exit 2; with --yes everything is as documented afterwards."""
    listed = program("config", "recommend", "--dry-run", "--diff")
    asked = program("config", "recommend")
    done = program("config", "recommend", "--yes")

    assert "approvals.mode\tunset\tmanual" in listed.out
    assert "+  mode: manual\n" in listed.out
    assert (asked.code, done.code) == (2, 0)
    assert yaml.safe_load(config.read_text())["approvals"] == {"mode": "manual"}
    assert "# keep sorted" in config.read_text()
    assert program("config", "recommend").out.splitlines()[1] == "Everything is as the documentation recommends."


def editor(tmp_path: Path, *texts: str) -> str:
    """An editor that writes one text after the other; the last one stays."""
    for number, text in enumerate(texts):
        (tmp_path / f"text{number}").write_text(text)
    script = tmp_path / "editor"
    script.write_text(
        f"#!/bin/sh\nn=$(cat {tmp_path}/n 2>/dev/null || echo 0)\n"
        f'if [ -e {tmp_path}/text$n ]; then cp {tmp_path}/text$n "$1"; echo $((n+1)) > {tmp_path}/n; fi\n'
    )
    script.chmod(0o755)
    return str(script)


def test_edit_saves_what_the_editor_left(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With consent; without it nothing is written and the text is kept."""
    monkeypatch.setenv("EDITOR", editor(tmp_path, CONFIG + "a: 1\n"))

    ran = program("config", "edit", "--yes", "--diff")

    assert ran.code == 0
    assert ran.out.endswith("+a: 1\n")
    assert "+a: 1" not in ran.err, "shown once, where nobody is asked in between"
    assert config.read_text() == CONFIG + "a: 1\n"


@pytest.mark.parametrize("options", [(), ("--diff",), ("--json",)], ids=["dry", "diff", "json"])
def test_a_rehearsed_edit_shows_what_it_would_write(
    options: tuple[str, ...], program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has typed it: the difference once, and that the text is not kept; the file and its folder stay."""
    monkeypatch.setenv("EDITOR", editor(tmp_path, CONFIG + "a: 1\n"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    ran = program("config", "edit", "--dry-run", *options)

    assert (ran.code, config.read_text()) == (0, CONFIG)
    assert (ran.out + ran.err).count("+a: 1") == 1
    if "--json" not in options:
        assert "Would change config.yaml; what was typed in the editor is not kept.\n" in ran.out
    assert not list(tmp_path.glob("canon-ops-*"))


def test_edit_opens_a_broken_text_again(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is never saved; the second try is."""
    monkeypatch.setenv("EDITOR", editor(tmp_path, "a: [1\n", "a: [1]\n"))

    ran = program("config", "edit", "--yes")

    assert ran.code == 0
    assert "cannot be read at line 2" in ran.err
    assert config.read_text() == "a: [1]\n"


def test_edit_gives_up_on_a_text_that_stays_broken(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1, nothing written, and the text is kept where it is told."""
    monkeypatch.setenv("EDITOR", editor(tmp_path, "a: [1\n"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    ran = program("config", "edit", "--yes", "--json")

    assert (ran.code, config.read_text()) == (1, CONFIG)
    fix = ran.json["errors"][0]["fix"]
    kept = Path(fix.partition("your text is kept: ")[2].rstrip(")"))
    assert kept.read_text() == "a: [1\n"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert fix.startswith(f"repair {kept}:2 "), fix
    assert str(config) not in ran.out, "nothing is wrong with the file itself"


@pytest.mark.parametrize("words", [("edit",), ("recommend", "--yes"), ("heal", "--since", "2")])
def test_a_managed_home_is_not_changed_as_a_whole_either(
    program: Runner, config: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before an editor is opened or anything is asked."""
    program("config", "snapshot")
    monkeypatch.setenv("HERMES_MANAGED", "nixos")
    monkeypatch.setenv("EDITOR", "/nonexistent")

    ran = program("config", *words)

    assert ran.code == 1
    assert "managed by NixOS" in ran.err


def test_what_the_administrator_decides_is_not_changed_as_a_whole_either(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit of another key is made; one of a pinned key is refused, and the work is kept."""
    scope = tmp_path / "etc"
    scope.mkdir()
    (scope / "config.yaml").write_text("streaming:\n  enabled: true\n")
    monkeypatch.setenv("HERMES_MANAGED_DIR", str(scope))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv(
        "EDITOR", editor(tmp_path, CONFIG + "a: 1\n", CONFIG.replace("enabled: true   #", "enabled: no   #"))
    )

    free, pinned = program("config", "edit", "--yes"), program("config", "edit", "--yes")

    assert (free.code, pinned.code) == (0, 1)
    assert (
        f"The administrator of this machine decides about streaming.enabled, in {scope / 'config.yaml'}" in pinned.err
    )
    assert "your text is kept: " in pinned.err
    assert config.read_text() == CONFIG + "a: 1\n"


def test_recommend_leaves_out_what_the_administrator_decides(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hermes would not read it from the user's file; everything else is proposed, and made with consent."""
    free = {each["path"] for each in program("config", "recommend", "--dry-run", "--json").json["data"]["proposed"]}
    (tmp_path / "config.yaml").write_text("approvals:\n  mode: smart\n")
    monkeypatch.setenv("HERMES_MANAGED_DIR", str(tmp_path))

    listed = program("config", "recommend", "--dry-run", "--json").json["data"]["proposed"]
    done = program("config", "recommend", "--yes")

    assert {each["path"] for each in listed} == free - {"approvals.mode"}
    assert (done.code, len(listed) > 0) == (0, True)
    assert "approvals" not in yaml.safe_load(config.read_text())


def test_heal_is_no_change_of_what_the_administrator_decides(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments come back around a pinned value, which stays as it is."""
    program("config", "snapshot")
    strip(config)
    (tmp_path / "config.yaml").write_text("streaming:\n  enabled: true\nplugins:\n  enabled: []\n")
    monkeypatch.setenv("HERMES_MANAGED_DIR", str(tmp_path))

    ran = program("config", "heal", "--yes")

    assert (ran.code, config.read_text()) == (0, CONFIG)


def test_edit_without_an_editor_says_which_variable(program: Runner, config: Path) -> None:
    """Exit 2; an editor that fails is exit 3."""
    assert program("config", "edit").code == 2


@pytest.mark.parametrize("name", ["false", "/nonexistent/editor"])
def test_an_editor_that_fails_changes_nothing(
    program: Runner, config: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it left is not taken for anybody's wish."""
    monkeypatch.setenv("VISUAL", name)

    assert program("config", "edit", "--yes").code == 3
    assert config.read_text() == CONFIG


LEFT = {
    "no file": ('rm "$1"', 3, "left no file"),
    "a folder": ('rm "$1"; mkdir "$1"', 3, "left no file"),
    "a pipe": ('rm "$1"; mkfifo "$1"', 3, "left no file"),
    "nothing in it": (': > "$1"', 1, "left no key"),
    "comments": ('echo "# a: 1" > "$1"', 1, "left no key"),
    "{}": ('echo "{}" > "$1"', 1, "left no key"),
    "a signal": ('echo "a: 9" > "$1"; kill -9 $$', 3, "was ended by signal 9"),
    "half of it, and a failure": ('echo "a: 9" > "$1"; exit 7', 3, "ended with 7"),
}


@pytest.mark.parametrize(("does", "code", "says"), LEFT.values(), ids=LEFT.keys())
def test_what_no_person_would_leave_is_not_written(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, code: int, says: str
) -> None:
    """An editor that fails, or that empties the file, changes nothing, agreed to or not."""
    script = tmp_path / "editor"
    script.write_text(f"#!/bin/sh\n{does}\n")
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))

    ran = program("config", "edit", "--yes")

    assert (ran.code, config.read_text()) == (code, CONFIG)
    assert says in ran.err
    assert "fix: canon-ops config edit" in ran.err
    assert ("your text is kept: " in ran.err) == ("a: 9" in does or "# a" in does or "{}" in does)


@pytest.mark.parametrize("value", ["vi '", 'code "--wait', "nano\\"])
def test_an_editor_with_half_a_quote_is_wrong_usage(
    program: Runner, config: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """It is said which variable it is, and what is wrong with it."""
    monkeypatch.setenv("VISUAL", value)

    ran = program("config", "edit")

    assert (ran.code, config.read_text()) == (2, CONFIG)
    assert "VISUAL" in ran.err


def test_edit_notices_a_writer_meanwhile(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file changed while the editor was open: exit 5, theirs stays, and so does the person's work."""
    script = tmp_path / "editor"
    script.write_text(f"#!/bin/sh\necho 'a: 1' >> \"$1\"\necho 'b: 2' >> {config}\n")
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))

    monkeypatch.setenv("TMPDIR", str(tmp_path))

    ran = program("config", "edit", "--yes")

    assert (ran.code, config.read_text()) == (5, CONFIG + "b: 2\n")
    kept = Path(ran.err.partition("your text is kept: ")[2].rpartition(")")[0])
    assert kept.read_text() == CONFIG + "a: 1\n"


def test_edit_keeps_a_text_that_nobody_agreed_to(
    program: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2 and nothing written; a text that was not touched leaves nothing behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("EDITOR", "true")
    untouched = program("config", "edit")
    left = list(tmp_path.glob("canon-ops-*"))
    monkeypatch.setenv("EDITOR", editor(tmp_path, "a: 1\n"))

    ran = program("config", "edit")

    assert (untouched.code, left) == (0, [])
    assert (ran.code, config.read_text()) == (2, CONFIG)
    assert "your text is kept: " in ran.err
