"""Whatever Hermes' loaders raise on is a refusal of ours with a place, and nothing else is ever raised."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from canon_ops.files.yaml_reader import ConfigSyntaxError, read_yaml

# Both loaders let through what Python says about each of these.
NOT_BUILT = {
    "a date that no calendar has": "d: 2024-13-45",
    "an hour that no day has": "d: 2001-01-01T99:00:00Z",
    "a word for a number": "d: !!float x",
    "nothing for a number": 'd: !!int ""',
    "an octal nine": "d: !!int 089",
    "a word for a truth": "d: !!bool x",
    "a word for a time": "d: !!timestamp x",
    "a number of 5,000 digits": "d: " + "9" * 5_000,
}


@pytest.mark.parametrize("text", NOT_BUILT.values(), ids=NOT_BUILT)
def test_a_value_that_cannot_be_built_is_refused_with_its_place(text: str) -> None:
    """The line and column are those of the value, also behind an alias or inside a list."""
    before = "a: &here [1]\nb: *here\n"

    for data, column in ((text, 4), (before + text, 4), (f"{before}c: [{text[3:]}]", 5)):
        with pytest.raises(ConfigSyntaxError) as caught:
            read_yaml(data.encode(), "config.yaml")
        assert (caught.value.line, caught.value.column) == (data.count("\n") + 1, column)
        assert caught.value.fix


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[\n" * 100_000 + "]\n" * 100_000,
        "a:\n  " + "- " * 3_000 + "x",
        "".join(f"{' ' * level}a:\n" for level in range(1_000)),
    ],
    ids=["brackets", "dashes", "indents"],
)
def test_deep_nesting_is_refused_and_not_fatal(text: str) -> None:
    """The gateway's loader gives up at some depth; the other one would take the whole process with it."""
    script = (
        "import sys\nfrom canon_ops.errors import CanonOpsError\nfrom canon_ops.files.yaml_reader import read_yaml\n"
        "try:\n    read_yaml(sys.stdin.buffer.read(), 'f')\nexcept CanonOpsError as exc:\n    print(exc.code, exc.fix)"
    )

    done = subprocess.run([sys.executable, "-c", script], input=text, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stdout) == (0, "config_syntax give it fewer levels: f\n")


@pytest.mark.parametrize("levels", [10, 120])
def test_nesting_that_both_loaders_take_is_read(levels: int) -> None:
    """A look is not a refusal."""
    assert read_yaml(f"a: {'[' * levels}{']' * levels}".encode(), "f").value["a"]


TEXTS = st.lists(
    st.sampled_from([
        "a: ", "b: ", "- ", "\n", "  ", "[", "]", "{", "}", ",", "!!int ", "!!float ", "!!bool ", "!!timestamp ",
        "!!set ", "!!omap ", "!!binary ", "!!null ", "!x ", "! ", "&n ", "*n", "<<: ", "? ", "x", "089", "1e9", "1:99",
        "2024-13-45", '"\\ud800"', '"', "'", "|", ">-", "#", "\t", "=", "%", "---\n", "...\n", "\u2028", "\x07",
    ]),
    max_size=12,
).map("".join)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(TEXTS)
@example("a: 2024-13-45")
@example("a: !!set ")
@example('a: "\\ud800"')
def test_a_text_is_read_as_both_loaders_read_it_or_refused(text: str) -> None:
    """No text raises anything but the refusal; what is read is what both loaders build."""
    try:
        found = read_yaml(text.encode("utf-8", "surrogatepass"), "config.yaml").value
    except ConfigSyntaxError as error:
        assert error.fix
        return

    for loader in (yaml.SafeLoader, yaml.CSafeLoader):
        assert repr(yaml.load(text, loader) or {}) == repr(found)  # noqa: S506  # both are safe


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['exit 1']",
        "!!python/name:os.system",
        "!!python/module:os",
        "!include /etc/passwd",
    ],
)
def test_a_value_is_never_a_command(value: str) -> None:
    """Tags that other loaders run are refused with their line."""
    with pytest.raises(ConfigSyntaxError, match="line 2"):
        read_yaml(f"a: 1\nb: {value}\n".encode(), "config.yaml")


@pytest.mark.parametrize(
    "number", ["1" + ":59" * 2_000, "0x" + "f" * 4_000, "0b" + "1" * 9_000, "0" + "7" * 5_000, "9" * 4_400]
)
def test_a_number_of_thousands_of_digits_is_refused(number: str) -> None:
    """Python reads some of them and can write none, so that every look at the value would fail."""
    with pytest.raises(ConfigSyntaxError, match="line 2, column 4 that Hermes cannot build"):
        read_yaml(f"a: 1\nb: {number}\n".encode(), "config.yaml")


@pytest.mark.parametrize(
    "marks",
    [
        "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> theirs\n",
        "<<<<<<<\na: 1\n=======\na: 2\n>>>>>>>\n",
        "<<<<<<< ours\na: 1\n||||||| base\na: 0\n=======\na: 2\n>>>>>>> theirs\n",
    ],
    ids=["git", "bare", "diff3"],
)
def test_a_merge_that_was_not_finished_is_named(marks: str) -> None:
    """Whatever YAML stumbles over, the cause is the first mark, and it is told with its line."""
    with pytest.raises(ConfigSyntaxError, match="mark of a merge that was not finished at line 2") as caught:
        read_yaml(f"z: 1\n{marks}".encode(), "config.yaml")

    assert (caught.value.line, caught.value.column) == (2, 1)
    assert "config.yaml:2" in (caught.value.fix or "")


def test_the_marks_of_a_merge_in_a_text_are_a_text() -> None:
    """A block of text that shows such marks is read, and another fault in the file is not put down to them."""
    shown = "a: |\n  <<<<<<< HEAD\n  =======\n"

    assert read_yaml(shown.encode(), "config.yaml").value == {"a": "<<<<<<< HEAD\n=======\n"}
    with pytest.raises(ConfigSyntaxError) as caught:
        read_yaml(f"{shown}b: [\n".encode(), "config.yaml")
    assert "merge" not in str(caught.value)
