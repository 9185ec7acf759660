"""What can be asked of a host's interpreter, and the answers as types; host_question.py runs host_child.py there."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canon_ops.files.reading import read_optional
from canon_ops.hermes.contract import Described, Parameter
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_question import HostUnusable, Question, try_by_hand

if TYPE_CHECKING:
    from canon_ops.runtime.scratch import Scratch

__all__ = [
    "OUR_DISTRIBUTION",
    "OUR_PACKAGES",
    "PLUGIN_GROUP",
    "Distribution",
    "EntryPoint",
    "HermesFacts",
    "HostFacts",
    "HostUnusable",
    "ImportOutcome",
    "ImportsAhead",
    "InstalledDistribution",
    "LoadedPlugin",
    "describe_symbols",
    "discover_plugins",
    "host_facts",
    "installed_distributions",
    "try_imports",
]

PLUGIN_GROUP = "hermes_agent.plugins"
OUR_DISTRIBUTION = "canon-ops"
OUR_PACKAGES = ("canon_ops", "canon_hermes_plugin", "borgee_hermes")

_FORM: dict[str, Any] = {
    "ask": (),
    "import": (),
    "discover": False,
    "describe": (),
    "packages": OUR_PACKAGES,
    "group": PLUGIN_GROUP,
}
_FACTS_S = 20.0  # about 0.2 s warm; a cold disk and a large environment are slower
_IMPORT_S = 30.0
_DESCRIBE_S = 60.0  # it imports the gateway: about 1.5 s warm
_DISCOVER_S = 60.0  # the host imports all its bundled plugins: about 0.6 s warm


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution, by its normalised name.

    Attributes:
        is_whole: False for what a killed installer left of it.
    """

    name: str
    version: str
    editable: bool = False
    is_whole: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class InstalledDistribution:
    """An installed distribution with what an installer has to know about it.

    Attributes:
        name: normalised.
        requires: its requirements, as its metadata writes them.
        info: the folder of its metadata; None when it has none of its own (an egg).
        editable_url: address of the folder that it leads to, for an editable installation.
        is_whole: False for what a killed installer left of it.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    info: Path | None = None
    editable_url: str | None = None
    is_whole: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One plugin that the host can see: what operators enable, and the module behind it."""

    name: str
    value: str
    distribution: str
    version: str


@dataclass(frozen=True, slots=True)
class HermesFacts:
    """The Hermes in an interpreter.

    Attributes:
        version: ``hermes_cli.__version__`` as its source says; None when the source does not.
        folder: where its packages lie.
        is_checkout: they lie in a source tree.
        distribution: its metadata, which a checkout may lack and which a fork has under another name.
    """

    version: str | None
    release_date: str | None
    folder: Path
    is_checkout: bool
    distribution: Distribution | None


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What one interpreter says about itself.

    Attributes:
        python: ``3.13.5``.
        platform: ``sys.platform``.
        externally_managed: the system's package manager forbids pip here (PEP 668).
        owners: for each of our import packages the distributions that brought it, ours among them.
    """

    executable: Path
    python: str
    platform: str
    prefix: Path
    is_venv: bool
    has_pip: bool
    externally_managed: bool
    site: Path
    site_writable: bool
    hermes: HermesFacts | None
    entry_points: tuple[EntryPoint, ...]
    owners: Mapping[str, tuple[Distribution, ...]]

    @property
    def ours(self) -> Distribution | None:
        """Our distribution in this interpreter."""
        return next((one for many in self.owners.values() for one in many if one.name == OUR_DISTRIBUTION), None)

    @property
    def foreign(self) -> tuple[Distribution, ...]:
        """Distributions of other names that own one of our import packages, each once."""
        return tuple(
            dict.fromkeys(one for many in self.owners.values() for one in many if one.name != OUR_DISTRIBUTION)
        )

    def entry_point(self, name: str) -> EntryPoint | None:
        """The entry point that the host would load under ``name``; ours if several claim it."""
        claims = [point for point in self.entry_points if point.name == name]
        return next(
            (point for point in claims if point.distribution == OUR_DISTRIBUTION), claims[0] if claims else None
        )


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What importing one module in the host came to.

    Attributes:
        error: the last line of the traceback; None when it worked.
        place: file and line where it went wrong.
        missing: the module that could not be found, when that was the reason.
        registers: it has a callable ``register``, without which Hermes loads nothing.
    """

    error: str | None
    place: tuple[str, int] | None = None
    missing: str | None = None
    registers: bool = False
    file: Path | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """One row of the host's own plugin list."""

    name: str
    source: str
    enabled: bool
    error: str | None


def host_facts(python: Path, *, environ: Mapping[str, str], timeout_s: float = _FACTS_S) -> HostFacts:
    """Ask ``python`` who it is. When it is the interpreter that runs us, it is asked without starting another one.

    Raises:
        HostUnusable: no answer.
    """
    answer = _own_facts(python) or _ask(python, {"ask": ["facts"]}, environ, timeout_s)
    try:
        return _facts(answer["facts"])
    except (KeyError, TypeError) as exc:
        raise HostUnusable(
            f"{python} answered without the facts that were asked for ({exc}).", fix=try_by_hand(python)
        ) from exc


def _own_facts(python: Path) -> dict[str, Any] | None:
    """The same answer, by the same code, from this process; None where it could see other packages than a new one.

    Nothing of the host is imported for it.
    """
    if python != Path(sys.executable) or "PYTHONPATH" in os.environ or "PYTHONHOME" in os.environ:
        return None
    from canon_ops.hermes import host_child

    importlib.invalidate_caches()  # an installer may have been at work since
    return {"facts": host_child.facts(list(OUR_PACKAGES), PLUGIN_GROUP)}


def installed_distributions(
    python: Path, *, environ: Mapping[str, str], timeout_s: float = _FACTS_S
) -> dict[str, InstalledDistribution]:
    """Everything that is installed where ``python`` looks, by normalised name.

    Raises:
        HostUnusable: no answer.
    """
    answer = _ask(python, {"ask": ["distributions"]}, environ, timeout_s)
    try:
        rows = [
            InstalledDistribution(
                row["name"],
                row["version"],
                tuple(row["requires"]),
                Path(row["info"]) if row["info"] else None,
                row["editable_url"],
                row["is_whole"],
            )
            for row in answer["distributions"]
        ]
    except (KeyError, TypeError) as exc:
        raise HostUnusable(
            f"{python} answered without the list that was asked for ({exc}).", fix=try_by_hand(python)
        ) from exc
    return {row.name: row for row in rows}


def try_imports(
    python: Path, names: Iterable[str], *, environ: Mapping[str, str], timeout_s: float = _IMPORT_S
) -> dict[str, ImportOutcome]:
    """Import each module in ``python``, one after the other in one process, and say what came of it.

    Raises:
        HostUnusable: no answer, for example because an import never ends.
    """
    wanted = tuple(names)
    return _outcomes(wanted, _ask(python, {"import": wanted}, environ, timeout_s))


def _outcomes(names: Iterable[str], answer: Mapping[str, Any]) -> dict[str, ImportOutcome]:
    rows: dict[str, Any] = answer.get("imports", {})
    return {name: _import_outcome(rows.get(name, {"ok": False, "error": "no answer"})) for name in names}


class ImportsAhead:
    """The question of :func:`try_imports`, asked before its answer is needed: the host works while we load ourselves.

    It is answered once. Whoever holds one abandons it in the end, whether or not somebody wanted the answer.

    Attributes:
        python: the interpreter that was asked.
    """

    def __init__(self, python: Path, names: Iterable[str], *, environ: Mapping[str, str]) -> None:
        self.python = python
        self._names = tuple(names)
        self._environ = environ
        self._question: Question | None = None
        with suppress(HostUnusable):  # whoever wants the answer asks again, and is told why there is none
            self._question = Question(python, _FORM | {"import": self._names}, environ)

    def outcomes(self, *, timeout_s: float = _IMPORT_S) -> dict[str, ImportOutcome]:
        """What :func:`try_imports` would say now.

        Raises:
            HostUnusable: no answer.
        """
        question, self._question = self._question, None
        if question is None:
            return try_imports(self.python, self._names, environ=self._environ, timeout_s=timeout_s)
        return _outcomes(self._names, question.answer(timeout_s))

    def abandon(self) -> None:
        """Nobody wants the answer any more."""
        if self._question is not None:
            self._question.abandon()
            self._question = None


def describe_symbols(
    python: Path, paths: Iterable[str], *, environ: Mapping[str, str], timeout_s: float = _DESCRIBE_S
) -> dict[str, Described]:
    """Let ``python`` describe the host's symbols (``module:Class.member``), by path.

    It happens in a temporary home: importing the host's modules makes folders in whichever home they are given.

    Raises:
        HostUnusable: no answer.
    """
    wanted = tuple(paths)
    with _scratch() as scratch:
        answer = _ask(python, {"describe": wanted}, {**environ, "HERMES_HOME": str(scratch.path)}, timeout_s)
    try:
        return {path: _described(path, answer["described"][path]) for path in wanted}
    except (KeyError, TypeError) as exc:
        raise HostUnusable(
            f"{python} answered without the description that was asked for ({exc}).", fix=try_by_hand(python)
        ) from exc


def discover_plugins(
    python: Path,
    home: HermesHome,
    *,
    environ: Mapping[str, str],
    config: bytes | None = None,
    timeout_s: float = _DISCOVER_S,
) -> dict[str, LoadedPlugin]:
    """Let the host load the plugins that ``home`` enables, as its gateway would, and return its list by name.

    It happens in a temporary home with a copy of config.yaml: the host's loader makes folders and logs in whichever
    home it is given, and a question must change nothing. Folder plugins of the home are not seen.

    Args:
        config: what config.yaml would hold, to ask before it is written; None asks about the file as it is.

    Raises:
        HostUnusable: no answer, or the host's loader itself failed.
    """
    with _scratch() as scratch:
        config = read_optional(home.config_file) if config is None else config
        if config is not None:
            (scratch.path / "config.yaml").write_bytes(config)
        answer = _ask(python, {"discover": True}, {**environ, "HERMES_HOME": str(scratch.path)}, timeout_s)
    if answer.get("plugins") is None:
        raise HostUnusable(
            f"Hermes' own plugin loader failed: {answer.get('plugins_error')}", fix=home.command("plugins list")
        )
    rows = [
        LoadedPlugin(str(row["name"]), str(row["source"]), bool(row["enabled"]), row["error"])
        for row in answer["plugins"]
    ]
    return {row.name: row for row in rows}


def _scratch() -> AbstractContextManager[Scratch]:
    from canon_ops.runtime.scratch import scratch_folder  # loads more than all other questions together need

    return scratch_folder()


def _ask(python: Path, request: Mapping[str, Any], environ: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    return Question(python, _FORM | dict(request), environ).answer(timeout_s)


def _facts(row: Mapping[str, Any]) -> HostFacts:
    return HostFacts(
        executable=Path(row["executable"]),
        python=row["python"],
        platform=row["platform"],
        prefix=Path(row["prefix"]),
        is_venv=row["is_venv"],
        has_pip=row["has_pip"],
        externally_managed=row["externally_managed"],
        site=Path(row["site"]),
        site_writable=row["site_writable"],
        hermes=_hermes(row["hermes"]),
        entry_points=tuple(EntryPoint(**point) for point in row["entry_points"]),
        owners={name: tuple(Distribution(**one) for one in many) for name, many in row["owners"].items()},
    )


def _hermes(row: Mapping[str, Any] | None) -> HermesFacts | None:
    if row is None:
        return None
    distribution = row["distribution"]
    return HermesFacts(
        version=row["version"],
        release_date=row["release_date"],
        folder=Path(row["folder"]),
        is_checkout=row["is_checkout"],
        distribution=None if distribution is None else Distribution(**distribution),
    )


def _import_outcome(row: Mapping[str, Any]) -> ImportOutcome:
    if not row["ok"]:
        place = row.get("place")
        return ImportOutcome(error=row["error"], place=tuple(place) if place else None, missing=row.get("missing"))
    return ImportOutcome(error=None, registers=row["registers"], file=Path(row["file"]) if row["file"] else None)


def _described(path: str, row: Mapping[str, Any]) -> Described:
    if not row["found"]:
        return Described(path, False, row["reason"])
    listed, entries = row["parameters"], row["entries"]
    return Described(
        path,
        True,
        is_async=row["is_async"],
        parameters=None if listed is None else tuple(Parameter(**one) for one in listed),
        entries=None if entries is None else tuple(entries),
    )
