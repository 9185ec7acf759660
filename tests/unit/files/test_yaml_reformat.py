"""The second way: the whole document written anew, where that was allowed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import ruamel.yaml

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.engine import EngineMissing
from canon_ops.files.yaml_proofs import ProofFailed
from canon_ops.files.yaml_reader import same
from tests.support.config_corpus import READABLE
from tests.support.config_oracle import comments, edited, every_place, read, with_value

TEXT = "# head\na:   1   # beside\nl:\n    - x   # one\n# tail\n"


class NoEngine:
    """What a machine without a wheel of yaml-edit has."""

    def __getattr__(self, name: str) -> Any:
        raise EngineMissing("yaml-edit is not installed")


def without_engine(text: str, *, allow_reformat: bool) -> ConfigDocument:
    return ConfigDocument.parse(text.encode(), engine=NoEngine(), allow_reformat=allow_reformat)


def test_without_the_engine_an_edit_is_refused() -> None:
    """F6: where the wheel is missing, nothing is rewritten unless that was allowed."""
    with pytest.raises(EngineMissing):
        without_engine(TEXT, allow_reformat=False).set(("b",), 2)


def test_where_it_is_allowed_the_document_is_written_anew() -> None:
    """F6: then ruamel writes the file, every comment stays, and the document says that it was reformatted."""
    document = without_engine(TEXT, allow_reformat=True)

    edit = document.set(("b",), "off")

    assert edit.value == {"a": 1, "l": ["x"], "b": "off"}
    assert comments(edit.data.decode()) == comments(TEXT)
    assert edit.reformatted
    assert not document.reformatted
    assert not ConfigDocument.parse(TEXT.encode(), allow_reformat=True).set(("b",), 2).reformatted


def test_removing_needs_no_engine() -> None:
    """What is spliced works without the engine, byte for byte."""
    edit = without_engine(TEXT, allow_reformat=False).unset(("a",))

    assert edit.data.decode() == "l:\n    - x   # one\n# tail\n"


def test_a_rewrite_that_would_lose_a_comment_is_refused() -> None:
    """BR-14, BR-20: ruamel drops comments of some shapes; such a rewrite is not offered."""
    text = "enabled: [\n  a,   # chat\n  b,\n]\n"

    with pytest.raises(ProofFailed):
        without_engine(text, allow_reformat=True).add(("enabled",), "c")


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in READABLE.items()])
def test_a_rewrite_means_the_same_or_is_refused(text: str) -> None:
    """F6: over the whole corpus, what ruamel writes is read as the old values and the change, with every comment."""
    for path in [(), *(path for path, _ in every_place(text, kind=dict))]:
        new = (*path, "brand_new")
        try:
            edit = without_engine(text, allow_reformat=True).set(new, {"k": ["off", 1]})
        except ProofFailed:
            continue
        except Exception as error:
            if getattr(error, "code", "") in ("config_alias", "config_anchor"):
                continue
            raise
        assert "&" in text or same(read(edit.data.decode()), with_value(read(text), new, {"k": ["off", 1]}))
        assert comments(edit.data.decode()) == comments(text)


def test_most_of_the_corpus_can_be_rewritten() -> None:
    """The fallback is worth having: few texts of the corpus are beyond it."""
    refused = []
    for name, text in READABLE.items():
        try:
            without_engine(text, allow_reformat=True).set(("brand_new",), 1)
        except ProofFailed:
            refused.append(name)

    assert len(refused) <= len(READABLE) // 5, refused


def test_the_byte_keeping_way_never_asks_ruamel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpus passes with ruamel's writer broken: it has no part in an ordinary edit."""

    def broken(*_: object, **__: object) -> None:
        raise AssertionError("ruamel was asked to write")

    monkeypatch.setattr(ruamel.yaml.YAML, "dump", broken)

    for text in READABLE.values():
        assert edited(text, "set", ("brand_new",), {"k": [1, "off"]}) is not None
        for path, _ in every_place(text):
            edited(text, "set", path, "x")
            edited(text, "unset", path)


def test_a_python_without_the_wheel_says_so() -> None:
    """F6: the sentence names the missing package and both ways out; reading works without it."""
    program = (
        "import sys; sys.modules['yaml_edit'] = None\n"
        "from canon_ops.files.config_editor import ConfigDocument\n"
        "document = ConfigDocument.parse(b'a: 1\\n')\n"
        "print(document.find(('a',)).value)\n"
        "try:\n    document.set(('b',), 2)\n"
        "except Exception as error:\n    print(error.code, error.fix)\n"
    )

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.splitlines()[0] == "1"
    assert "config_engine_missing" in run.stdout
    assert "--allow-reformat" in run.stdout


def test_reading_loads_neither_editor() -> None:
    """yaml-edit and ruamel are imported when an edit is made, not before; the terminal libraries never."""
    program = (
        "import sys\n"
        "import canon_ops.files.config_editor, canon_ops.files.transaction, canon_ops.files.dotenv_editor\n"
        "canon_ops.files.config_editor.ConfigDocument.parse(b'a: 1\\n').find(('a',))\n"
        "print(sorted({'yaml_edit', 'ruamel', 'ruamel.yaml', 'click', 'rich', 'httpx'} & set(sys.modules)))\n"
    )

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout == "[]\n"
