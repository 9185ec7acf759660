"""The page about checks and codes holds each of them, by its name, in words for people."""

from __future__ import annotations

import re

import pytest

from canon_ops.cli.checks import EVERY_CHECK
from canon_ops.cli.error_catalogue import ErrorFacts, error_facts
from canon_ops.cli.manual.markdown import prose
from canon_ops.cli.manual.troubleshooting import troubleshooting
from canon_ops.errors import ExitCode


def test_every_check_and_every_code_has_its_place() -> None:
    """A check is a heading, so that its anchor can be linked; a code is a row below its exit code."""
    page = troubleshooting(EVERY_CHECK, error_facts())

    assert sorted(re.findall(r"^### ([a-z_]+\.[a-z_]+)$", page, re.MULTILINE)) == sorted(c.id for c in EVERY_CHECK)
    assert sorted(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE)) == sorted(error_facts())


def test_a_code_stands_below_its_exit_code() -> None:
    """And says whether it is worth a second try."""
    errors = {
        "later": ErrorFacts(("Nobody answers.",), ExitCode.OUTSIDE, retryable=True),
        "never": ErrorFacts(("It is no.", "It stays no."), ExitCode.FAILED),
    }

    page = troubleshooting((), errors)

    failed, outside = page.split("### Exit 1")[1].split("### Exit 3")
    assert "| `never` | It is no. It stays no. | no |" in failed and "`later`" not in failed
    assert "| `later` | Nobody answers. | yes |" in outside


def test_sentences_about_codes_are_for_people() -> None:
    """They are taken from docstrings, whose marks belong to the source."""
    marked = [code for code, facts in error_facts().items() if re.search(r"``|:\w+:`", " ".join(facts.sentences))]

    assert marked == []


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a *b* and <c>", r"a \*b\* and \<c\>"),
        ("a_b stays, _c_ does not", r"a_b stays, \_c\_ does not"),
        ("`_c_ <x>` is code, <y> is none", r"`_c_ <x>` is code, \<y\> is none"),
    ],
)
def test_what_is_no_mark_is_printed_as_it_is(text: str, printed: str) -> None:
    """Outside of code every mark is taken as a character; code is left alone."""
    assert prose(text) == printed
