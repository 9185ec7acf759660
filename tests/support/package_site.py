"""A host made by hand and a home with somebody's files, for real uv to put small packages into."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.hermes.host_call import installed_distributions
from canon_ops.operate.install import InstallOptions, InstallOutcome, install
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.rollback import RollbackOptions, RollbackOutcome, rollback
from canon_ops.operate.uninstall import UninstallOptions, UninstallOutcome, uninstall
from canon_ops.operate.upgrade import UpgradeOptions, upgrade
from tests.support.fake_host import make_environment, put_distribution, put_hermes, put_loader, site_of
from tests.support.small_wheels import UV, offline_environ, our_wheel, small_wheel

__all__ = ["CONFIG", "ENV", "LOADED", "Site", "make_site"]

LOADED = {"name": "canon-hermes", "key": "canon-hermes", "version": "", "source": "entrypoint", "enabled": True,
          "error": None}  # fmt: skip
CONFIG = "# ours to keep\r\nplugins:\r\n  enabled: [other]  # sorted\r\nmodel: {default: x}\r\n"
ENV = "# keys\nOTHER_KEY=s3cret\n"


@dataclass
class Site:
    """A host made by hand, without pip, and a home with files of somebody's own."""

    user: Path
    python: Path
    environ: dict[str, str]
    told: list[str] = field(default_factory=list)

    @property
    def home(self) -> HermesHome:
        return resolve_home(self.environ)

    @property
    def versions(self) -> dict[str, str]:
        rows = installed_distributions(self.python, environ=self.environ)
        return {name: one.version for name, one in rows.items()}

    @property
    def files(self) -> tuple[bytes, bytes]:
        return self.home.config_file.read_bytes(), self.home.env_file.read_bytes()

    @property
    def kept_wheels(self) -> list[str]:
        return sorted(path.name for path in self.home.path.glob(".canon-ops/packages/*/*.whl"))

    def wheel(self, version: str, **more: object) -> str:
        return str(our_wheel(self.user / "dist" / str(len(more)), version, **more))  # type: ignore[arg-type]

    def install(self, source: str, *consents: str, dry_run: bool = False) -> InstallOutcome:
        options = InstallOptions(python=self.python, source=source, consents=frozenset(consents))
        return install(self.home, self.environ, options, Unattended(self.told.append), dry_run=dry_run)

    def uninstall(self, *, yes: bool = True, purge: bool = False, skip_package: bool = False) -> UninstallOutcome:
        options = UninstallOptions(python=self.python, purge=purge, skip_package=skip_package)
        return uninstall(self.home, self.environ, options, Unattended(yes=yes))

    def upgrade(self, source: str) -> InstallOutcome:
        options = UpgradeOptions(python=self.python, source=source)
        return upgrade(self.home, self.environ, options, Unattended())

    def rollback(self) -> RollbackOutcome:
        return rollback(self.home, self.environ, RollbackOptions(), Unattended(yes=True))

    def put(self, file: Path) -> None:
        """Install a wheel as a person would."""
        command = [str(UV), "pip", "install", "--quiet", "--python", str(self.python), str(file)]
        subprocess.run(command, env=self.environ, check=True, timeout=60)


def make_site(tmp_path: Path) -> Site:
    python = make_environment(tmp_path / "env")
    put_hermes(python)
    hermes = site_of(python) / "hermes_agent-0.19.0.dist-info" / "METADATA"
    hermes.write_text("Metadata-Version: 2.1\nName: hermes-agent\nVersion: 0.19.0\nRequires-Dist: pinned==1.0\n")
    put_loader(python, [LOADED])
    put_distribution(python, "pinned", "1.0", {"pinned.py": ""})
    links = tmp_path / "links"
    small_wheel(links, "pinned", "2.0", {"pinned.py": ""})
    small_wheel(links, "helper", "1.0", {"helper.py": ""})
    site = Site(tmp_path, python, offline_environ(tmp_path, links=links))
    site.home.path.mkdir()
    site.home.config_file.write_bytes(CONFIG.encode())
    site.home.env_file.write_bytes(ENV.encode())
    return site
