"""Which texts a host would take for a yes."""

from __future__ import annotations

import pytest

from canon_hermes_plugin.interactions.typed import is_approval


@pytest.mark.parametrize(
    "text",
    ["yes", " YES ", "ok", "👍", "approve", "/approve", "/approve all", "/approve@bot", "always", "approve session"],
)
def test_a_yes(text: str) -> None:
    """R9.10: the host's words and its command, with whatever stands behind it."""
    assert is_approval(text)


@pytest.mark.parametrize("text", ["", "no", "/deny", "yes please do", "approved", "/approver", "what?"])
def test_no_yes(text: str) -> None:
    """A refusal and a sentence are messages like any other."""
    assert not is_approval(text)


@pytest.mark.host
def test_the_hosts_own_words_are_known() -> None:
    """R9.10: each word that the installed host takes for a yes is one here too."""
    import ast
    from pathlib import Path

    import gateway

    files = sorted(Path(gateway.__file__).parent.glob("run*.py"))
    sets = [
        {one.value for one in node.value.elts if isinstance(one, ast.Constant)}
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Set)
        if any(isinstance(name, ast.Name) and name.id == "_approve_words" for name in node.targets)
    ]

    assert sets
    assert [word for words in sets for word in words if not is_approval(str(word))] == []
