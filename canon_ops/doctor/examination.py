"""What is examined, and the facts about it that several checks share: each fetched once, by whoever asks first.

A fact that cannot be had belongs to one check, its owner, which reports the reason (``fact.examine()`` raises it).
Every other check asks ``fact()`` and gets :class:`FactMissing`, so that one fault makes one error and not ten.

Facts are fetched in worker threads and may be asked for from several at once. ``probes`` goes out to the network and is
awaited on the loop.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from canon_ops.errors import CanonOpsError
from canon_ops.files.atomic import BrokenLink
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.hermes.config_file import HermesConfig, read_config, refuse_broken_link
from canon_ops.hermes.contract import Difference
from canon_ops.hermes.contract_check import contract_differences
from canon_ops.hermes.discovery import HostInstallation, find_host, is_running_host
from canon_ops.hermes.gateway import GatewayState, read_state
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_call import ImportOutcome, ImportsAhead, try_imports
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.hermes.surroundings import canon_paths_from_disk, pinned_variables, read_optional, surroundings_from_disk
from canon_ops.keyring.access import Keyring
from canon_ops.operate.audit_credentials import AuditFinding, audit_credentials
from canon_ops.operate.completion_place import Scripts, Shell
from canon_ops.operate.validate_config import ConfigFault, validate_config
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.credentials import Resolution, resolve
from canon_ops.settings.dotenv import DotenvLine, decode_dotenv, read_lines
from canon_ops.settings.paths import CanonPaths
from canon_ops.settings.problems import (
    AmbiguousProfile,
    BadBootstrap,
    BadEndpoint,
    DamagedFile,
    EnvironmentMissing,
    ForeignDatabase,
    MissingEndpoint,
    UnboundProfile,
    UnknownEnvironment,
)
from canon_ops.settings.surroundings import Surroundings

if TYPE_CHECKING:
    from canon_ops.doctor.probing import Probed

__all__ = ["Examination", "Fact", "FactMissing", "config_owner", "credential_owner", "owner_of"]

T = TypeVar("T")

# What is wrong with a credential that is there: it is tied to no environment, or to one that cannot be reached so.
_BINDING_PROBLEMS = (
    BadEndpoint, EnvironmentMissing, ForeignDatabase, MissingEndpoint, UnboundProfile, UnknownEnvironment,
)  # fmt: skip


def credential_owner(error: CanonOpsError) -> str:
    """Which of the credential checks reports a failed resolution."""
    match error:
        case DamagedFile() | BadBootstrap():
            return "creds.agents_file"
        case AmbiguousProfile():
            return "creds.ambiguous"
        case _:
            return "creds.binding" if isinstance(error, _BINDING_PROBLEMS) else "creds.present"


def config_owner(error: CanonOpsError) -> str:
    """Which check reports that config.yaml cannot be read: some kinds of fault have one of their own."""
    if isinstance(error, BrokenLink):
        return "config.symlink"
    return {"config_tabs": "config.tabs", "config_documents": "config.documents"}.get(error.code, "config.parse")


class FactMissing(Exception):
    """What a check needs could not be had; the check ``owner`` says why."""

    def __init__(self, owner: str) -> None:
        super().__init__(f"needs {owner}")
        self.owner = owner


class Fact(Generic[T]):
    """A value that is fetched at most once; so is the error, when it cannot be.

    Args:
        owner: the check that reports when it cannot be fetched; where several share that, a function of the error.
    """

    def __init__(self, owner: str | Callable[[CanonOpsError], str], fetch: Callable[[], T]) -> None:
        self._owner = owner
        self._fetch = fetch
        self._lock = threading.Lock()
        self._value: tuple[T] | None = None
        self._error: CanonOpsError | FactMissing | None = None

    def __call__(self) -> T:
        """The fact, for everybody but its owner.

        Raises:
            FactMissing: it cannot be had.
        """
        try:
            return self.examine()
        except CanonOpsError as exc:
            raise FactMissing(self._owner if isinstance(self._owner, str) else self._owner(exc)) from exc

    def examine(self) -> T:
        """The fact, for its owner; raises the reason when there is none."""
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._value is None:
                try:
                    self._value = (self._fetch(),)
                except (CanonOpsError, FactMissing) as exc:
                    self._error = exc
                    raise
            return self._value[0]


class AsyncFact(Generic[T]):
    """The same for a value that is awaited; it outlives the check that asked first."""

    def __init__(self, fetch: Callable[[], Awaitable[T]]) -> None:
        self._fetch = fetch
        self._task: asyncio.Future[T] | None = None

    async def __call__(self) -> T:
        if self._task is None:
            self._task = asyncio.ensure_future(self._fetch())
        return await asyncio.shield(self._task)

    async def aclose(self) -> None:
        """Give up whatever is still being fetched."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def owner_of(file: Path) -> int | None:
    """The user id that a file belongs to."""
    try:
        return file.stat().st_uid
    except OSError:
        return None


@dataclass
class Examination:
    """One Hermes home under examination.

    Args:
        home: the home that the command acts on.
        environ: the process environment.
        python: what ``--python`` said, or None to find the host.
        platform: the platform whose chain is examined.
        offline: leave out what reaches beyond this machine.
        timeout_s: for one request on the network.
        system: where the operating system's own folders begin.
        mounts: the text of ``/proc/self/mountinfo``, when it is not this machine's.
        statvfs: how much room a file system has.
        owner_of: whose a file is; None when that cannot be seen.
        completion: gives the completion scripts of this program by shell; asked only where some are installed.
        ahead: the host was asked already to import the platform's package; the caller abandons it in the end.
        ring: the keyring, when it is not simply this environment's.
    """

    home: HermesHome
    environ: Mapping[str, str]
    python: Path | None = None
    platform: PlatformNames = PLATFORMS["canon"]
    offline: bool = False
    timeout_s: float = 10.0
    clock: Clock = field(default_factory=SystemClock)
    system: Path = Path("/")
    mounts: str | None = None
    statvfs: Callable[[Path], os.statvfs_result] = os.statvfs
    owner_of: Callable[[Path], int | None] = owner_of
    completion: Callable[[], Mapping[Shell, Scripts]] = dict
    ahead: ImportsAhead | None = None
    ring: InitVar[Keyring | None] = None
    keyring: Keyring = field(init=False)

    def __post_init__(self, ring: Keyring | None) -> None:
        self.keyring = ring or Keyring(self.environ)
        self.host: Fact[HostInstallation] = Fact(
            "host.found", lambda: find_host(self.home.environ(self.environ), python=self.python)
        )
        self.imported: Fact[ImportOutcome] = Fact("plugin.import", self._import)
        self.contract: Fact[tuple[Difference, ...]] = Fact("host.contract", self._contract)
        self.config: Fact[HermesConfig] = Fact(config_owner, self._config)
        self.document: Fact[ConfigDocument] = Fact(config_owner, self._document)
        self.config_faults: Fact[tuple[ConfigFault, ...]] = Fact(config_owner, lambda: validate_config(self.document()))
        self.audit: Fact[tuple[AuditFinding, ...]] = Fact("creds.present", self._audit)
        self.dotenv: Fact[tuple[DotenvLine, ...]] = Fact("env.parse", self._dotenv)
        self.variables: Fact[Surroundings] = Fact("env.parse", self._variables)
        self.canon: Fact[CanonPaths] = Fact("env.parse", self._canon)
        self.surroundings: Fact[Surroundings] = Fact("creds.present", self._surroundings)
        self.resolution: Fact[Resolution] = Fact(credential_owner, lambda: resolve(self.surroundings()))
        self.gateway: Fact[GatewayState | None] = Fact("gateway.running", lambda: read_state(self.home))
        self.probes: AsyncFact[Mapping[str, Probed]] = AsyncFact(self._probe)

    def expect_room(self, path: str) -> None:
        """Make sure that the key ``path`` of config.yaml can be set at all, before a finding advises it.

        Raises:
            FactMissing: a section on the way to it is something else than a mapping; config.value tells which.
        """
        tree: object = self.config().tree
        for name in path.split(".")[:-1]:
            tree = tree.get(name) if isinstance(tree, Mapping) else None
            if tree is not None and not isinstance(tree, Mapping):
                raise FactMissing("config.value")

    def command(self, words: str) -> str:
        """A ``canon-ops`` command to paste, aimed at this home."""
        return self.home.own_command(words)

    async def aclose(self) -> None:
        """Give up requests that nobody waits for any more."""
        await self.probes.aclose()

    async def _probe(self) -> Mapping[str, Probed]:
        from canon_ops.doctor.probing import probe  # with the client: an examination offline has no use for it

        connection = (await asyncio.to_thread(self.resolution)).connection
        return await probe(connection, clock=self.clock, timeout_s=self.timeout_s)

    def _import(self) -> ImportOutcome:
        """Where this very interpreter runs Hermes, it is the host, and need not be found first."""
        package = self.platform.package
        is_here = self.python is None and is_running_host(self.home.environ(self.environ))
        python = Path(sys.executable) if is_here else self.host().python
        if self.ahead is not None and self.ahead.python == python:
            return self.ahead.outcomes()[package]
        return try_imports(python, [package], environ=self.home.environ(self.environ))[package]

    def _contract(self) -> tuple[Difference, ...]:
        host, environ = self.host(), self.home.environ(self.environ)
        folder = host.facts.hermes.folder if host.facts.hermes else None
        return contract_differences(host.python, environ=environ, platform=self.platform.name, folder=folder)

    def _dotenv(self) -> tuple[DotenvLine, ...]:
        file = self.home.env_file
        return read_lines(decode_dotenv(read_optional(file) or b"", file=str(file)))

    def _config(self) -> HermesConfig:
        refuse_broken_link(self.home.config_file)
        return read_config(self.home.config_file)

    def _document(self) -> ConfigDocument:
        self.config()
        file = self.home.config_file
        return ConfigDocument.parse(read_optional(file) or b"", str(file))

    def _audit(self) -> tuple[AuditFinding, ...]:
        self.dotenv()
        return audit_credentials(self.home, self.environ, self.keyring)

    def _variables(self) -> Surroundings:
        """The environment that a gateway has, without anything from config.yaml."""
        self.dotenv()
        file = self.home.env_file
        managed, managed_file = pinned_variables(self.environ)
        return Surroundings(
            self.environ,
            dotenv=read_optional(file),
            managed=managed,
            dotenv_file=str(file),
            managed_file=managed_file,
        )

    def _canon(self) -> CanonPaths:
        self.dotenv()
        return canon_paths_from_disk(self.home.path, self.environ)

    def _surroundings(self) -> Surroundings:
        config = self.config()
        self.dotenv()
        return surroundings_from_disk(self.home.path, self.environ, platform=config.platform(self.platform.name))
