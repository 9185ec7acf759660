"""Our edits leave a file byte for byte while nobody wrote since, and by their meaning afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.operate.installation import Installation, Run, read_installation
from canon_ops.operate.platform_files import AccessWish, with_access, with_platform
from canon_ops.operate.taking_back import FileStep, step_of, taken_back
from canon_ops.settings.surroundings import Surroundings

CANON = PLATFORMS["canon"]
FIRST_RUN = AccessWish()
TEXTS = [
    b"",
    b"# nothing but a remark\n",
    b"plugins:\n",
    b"plugins:\n  enabled: []   # keep sorted\n",
    b"plugins:\r\n  enabled: [a, b]\r\ndisplay:\r\n  tool_progress: off",
    b"plugins:\n  enabled:\n  - canon-hermes\n",
    b"plugins:\n  disabled: [x, canon-hermes, y]\n  enabled:\n    - x\n",
    b"canon:\n  enabled: false\n",
    b"platforms:\n  canon:\n    enabled: false # for now\n    extra: {a: 1}\n",
    b"a: 1\na_list: [\n  one,  # first\n]\n# the end",
]


def installed(before: bytes | None) -> tuple[bytes, FileStep]:
    """config.yaml after the platform was switched on, and the step."""
    document, edits = with_platform(ConfigDocument.parse(before or b"", "config.yaml"), CANON)
    return document.data, step_of("config.yaml", before, document.data, edits)


def opened(before: bytes | None, wish: AccessWish = FIRST_RUN) -> tuple[bytes, FileStep]:
    """.env after access was decided, and the step."""
    around = Surroundings(environ={}, dotenv=before, dotenv_file=".env")
    plan = with_access(DotenvDocument.parse(before or b"", ".env"), around, CANON, wish)
    after = plan.document.data if plan.document else before or b""
    return after, step_of(".env", before, after, plan.edits)


@pytest.mark.parametrize("before", [None, *TEXTS], ids=repr)
def test_an_untouched_file_is_what_it_was(before: bytes | None) -> None:
    """Whatever its line ends, comments and shape; a file that did not exist is gone again."""
    after, step = installed(before)

    assert taken_back(after, [step], name="config.yaml") == before


@pytest.mark.parametrize("before", [None, b"", b"A=1", b"export A='x'\r\n# mine\r\n", b"CANON_ALLOW_ALL_USERS=\n"])
@pytest.mark.parametrize("wish", [FIRST_RUN, AccessWish(people=("u1", "u2")), AccessWish(allow_all=True)], ids=repr)
def test_an_untouched_dotenv_is_what_it_was(before: bytes | None, wish: AccessWish) -> None:
    """The same for the access lines of .env, under every wish."""
    after, step = opened(before, wish)

    assert taken_back(after, [step], name=".env") == before


def test_several_steps_go_back_to_the_first() -> None:
    """Two runs over one file are taken back together, to the bytes before the first."""
    first_text, first = opened(b"A=1\n", AccessWish(allow_all=True))
    second_text, second = opened(first_text, AccessWish(people=("u1",)))

    assert second_text != first_text
    assert taken_back(second_text, [first, second], name=".env") == b"A=1\n"


@pytest.mark.parametrize("before", TEXTS, ids=repr)
def test_what_others_wrote_since_stays(before: bytes) -> None:
    """A later edit by somebody else survives, ours is gone, and the value is the old one with theirs."""
    after, step = installed(before)
    theirs = ConfigDocument.parse(after, "config.yaml").set(("model", "default"), "gpt").data

    back = taken_back(theirs, [step], name="config.yaml")

    old = yaml.safe_load(before) or {}
    expected = {**old, "model": {"default": "gpt"}}
    assert back is not None
    assert comparable(yaml.safe_load(back)) == comparable(expected)


def comparable(tree: dict[str, object]) -> dict[str, object]:
    """The order of a list does not count: an item that returns to a list goes to its end. Null and absent are alike."""
    lists = {
        key: {name: sorted(value) if isinstance(value, list) else value for name, value in part.items()}
        if isinstance(part, dict)
        else part
        for key, part in tree.items()
    }
    return {key: part for key, part in lists.items() if part not in (None, {})}


def test_a_value_that_somebody_changed_is_theirs() -> None:
    """Who switched the platform off after us, or closed the access, finds that unchanged."""
    after, step = installed(None)
    off = ConfigDocument.parse(after, "c").set(("platforms", "canon", "enabled"), False).data
    env, env_step = opened(None)
    closed = DotenvDocument.parse(env, ".env").set("CANON_ALLOW_ALL_USERS", "false").data

    assert yaml.safe_load(taken_back(off, [step], name="c") or b"") == {"platforms": {"canon": {"enabled": False}}}
    assert taken_back(closed, [env_step], name=".env") == closed


def test_sections_that_we_made_go_unless_somebody_uses_them() -> None:
    """An empty list that stood there stays; one that we made goes, unless another plugin is in it by now."""
    after, step = installed(None)
    shared = ConfigDocument.parse(after, "c").add(("plugins", "enabled"), "other").data

    assert yaml.safe_load(taken_back(shared, [step], name="c") or b"") == {"plugins": {"enabled": ["other"]}}


def test_a_file_that_is_gone_stays_gone() -> None:
    """Nothing is made anew by going back."""
    _, step = installed(b"a: 1\n")

    assert taken_back(None, [step], name="c") is None


def test_a_record_that_does_not_fit_is_not_trusted(tmp_path: Path) -> None:
    """When the kept lines do not give the old digest, the meaning decides."""
    after, step = installed(b"a: 1\n")
    wrong = FileStep(step.file, "0" * 64, step.after, step.hunks, step.edits)

    assert taken_back(after, [wrong], name="c") == b"a: 1\n"


@given(st.sampled_from(TEXTS), st.binary(max_size=40))
def test_the_record_survives_its_file(before: bytes, noise: bytes) -> None:
    """What is written as JSON and read again takes the same bytes back, also lines that are no UTF-8."""
    dotenv = b"#" + noise.replace(b"\n", b"").replace(b"\r", b"").replace(b"\0", b"") + b"\nCANON_ALLOW_ALL_USERS=no\n"
    after = dotenv.replace(b"=no", b"=true")
    config_after, config_step = installed(before)
    run = Run("install canon", "canon", 5, steps=(config_step, step_of(".env", dotenv, after, ())))

    record = read_installation(Path("/nonexistent"), Installation(runs=(run,)).to_bytes())

    assert record == Installation(runs=(run,))
    assert taken_back(after, record.steps("canon", ".env"), name=".env") == dotenv
    assert taken_back(config_after, record.steps("canon", "config.yaml"), name="c") == before
