"""Every secret that the files of a home hold, learned before anything is shown that may quote one.

Three things quote what they did not mean to: the lines around a change in a diff, a file that is one long line, and a
traceback. Masking by the look of a line cannot catch all of them; knowing the values can. So a writer's run learns them
first, and a run that failed by a fault of ours learns them before it tells.

Nothing here raises: a file that cannot be read here cannot be quoted either.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from canon_ops.cli.redaction import Redactor
from canon_ops.errors import CanonOpsError
from canon_ops.files.yaml_reader import read_yaml
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.home_list import homes_beside
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.keys import is_secret_name
from canon_ops.hermes.surroundings import canon_paths_from_disk, read_optional
from canon_ops.settings.dotenv import read_dotenv

__all__ = ["learn_secrets", "learn_text"]


def learn_secrets(redact: Redactor, home: HermesHome, environ: Mapping[str, str]) -> None:
    """Teach ``redact`` what ``.env``, config.yaml, Canon's files and the bootstrap variable hold."""
    with suppress(CanonOpsError, OSError):
        for each in homes_beside(home, environ):
            _learn_dotenv(redact, each.env_file)
    with suppress(CanonOpsError, OSError):
        redact.learn_tree((), read_config(home.config_file).tree)
    for text in _json_texts(home, environ):
        with suppress(ValueError, RecursionError):
            redact.learn_tree((), json.loads(text))


def learn_text(redact: Redactor, file: Path, text: bytes) -> None:
    """Teach ``redact`` what one text of a file holds, an old one say; the file's name tells how to read it."""
    with suppress(CanonOpsError, ValueError, RecursionError):
        match file.suffix:
            case ".yaml":
                redact.learn_tree((), read_yaml(text, str(file)).value)
            case ".json":
                redact.learn_tree((), json.loads(text))
            case _:
                _learn_lines(redact, file, text)


def _learn_dotenv(redact: Redactor, file: Path) -> None:
    with suppress(CanonOpsError, OSError):
        _learn_lines(redact, file, read_optional(file) or b"")


def _learn_lines(redact: Redactor, file: Path, text: bytes) -> None:
    for entry in read_dotenv(text, file=str(file)):  # lines that are overridden, too
        if entry.value and is_secret_name(entry.name):
            redact.add(entry.value)


def _json_texts(home: HermesHome, environ: Mapping[str, str]) -> Iterator[bytes | str]:
    yield environ.get("CANON_AGENTS_JSON_BOOTSTRAP", "")
    with suppress(CanonOpsError, OSError):
        paths = canon_paths_from_disk(home.path, environ)
        for file in (paths.agents_file, paths.pending_file):
            yield read_optional(file) or b""
