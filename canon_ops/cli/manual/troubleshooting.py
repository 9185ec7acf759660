"""What to do about each check and each error code, as one page: what ``explain`` says, for those who read first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canon_ops.cli.error_catalogue import EXIT_MEANINGS, ErrorFacts
from canon_ops.cli.manual.markdown import GENERATED, cell, prose
from canon_ops.doctor.check import Check
from canon_ops.errors import ExitCode

__all__ = ["troubleshooting"]

# The first part of a check's id, in the order of the page.
_AREAS = {
    "host": "The Hermes host",
    "plugin": "The package and its plugins",
    "platform": "The platforms",
    "gateway": "The gateway",
    "probe": "Probes of a running gateway",
    "config": "config.yaml",
    "env": "The .env file",
    "settings": "Settings that people notice",
    "creds": "Credentials",
    "registration": "Registration",
    "net": "The network",
    "canon": "Canon: inbox and outbox",
    "approvals": "Approvals",
    "borgee": "Borgee",
    "fs": "The disk",
    "completion": "Shell completion",
    "live": "A message through everything",
}

_BEGINNING = """\
# Troubleshooting

Begin with what the machine says about itself:

```
canon-ops status                  # how it stands, and the next step
canon-ops doctor                  # every check, with the command that mends what is wrong
canon-ops doctor --fix            # mend what can be mended without a decision; --dry-run shows it first
canon-ops explain CHECK|CODE      # what this page says about one of them
canon-ops doctor --bundle FILE    # what somebody who helps you needs, without secrets
```

A doctor's line names its check; an error of a `--json` document carries its code in `errors[].code`. Both are listed
here by that name.
"""


def troubleshooting(checks: Sequence[Check], errors: Mapping[str, ErrorFacts]) -> str:
    """The page: every check by what it is about, then every error code by how it ends a program."""
    areas: dict[str, list[Check]] = {name: [] for name in _AREAS}
    for check in checks:
        areas[check.id.partition(".")[0]].append(check)
    parts = [f"{GENERATED}{_BEGINNING}\n"]
    parts += [_area(_AREAS[name], group) for name, group in areas.items()]
    parts.append("## Error codes\n\n")
    for code in dict.fromkeys(facts.exit_code for facts in sorted(errors.values(), key=lambda facts: facts.exit_code)):
        parts.append(_ending(code, {name: facts for name, facts in sorted(errors.items()) if facts.exit_code is code}))
    return "".join(parts).rstrip() + "\n"


def _area(title: str, checks: Sequence[Check]) -> str:
    return f"## {title}\n\n" + "".join(map(_check, checks))


def _check(check: Check) -> str:
    about = check.about
    assert about is not None  # noqa: S101 - a test holds every check to it
    lines = [f"### {check.id}", f"**{prose(check.question)}**"]
    told = [("If not", about.cause), ("It matters", about.matters), ("By hand", about.by_hand)]
    items = [f"- {title}: {prose(text)}" for title, text in told if text]
    if about.related:
        items.append(f"- About: {', '.join(f'`{name}`' for name in about.related)}")
    return "\n\n".join([*lines, "\n".join([*items, f"- Ask it alone: `canon-ops doctor --only {check.id}`"])]) + "\n\n"


def _ending(code: ExitCode, errors: Mapping[str, ErrorFacts]) -> str:
    rows = "".join(
        f"| `{name}` | {cell(' '.join(facts.sentences))} | {'yes' if facts.retryable else 'no'} |\n"
        for name, facts in errors.items()
    )
    head = f"### Exit {int(code)}\n\n{EXIT_MEANINGS[code]}\n\n"
    return f"{head}| code | what it says | the same call may work later |\n|---|---|---|\n{rows}\n"
