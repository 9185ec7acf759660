"""Hermes homes for tests: one folder that holds everything a gateway reads, and the environment to start it with.

The configuration keeps a gateway quiet and local: no extra model requests, no downloads, no notes in the first message.
Source: Hermes end-to-end, 2.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import certifi
import yaml

from canon_ops.hermes.gateway import isolated_environ
from canon_ops.hermes.homes import HermesHome, resolve_home
from tests.support.candidate import loaded_as

__all__ = ["GatewayHome", "build_home", "merged", "quiet_config"]

_RECORD = re.compile(r"^(?=\d{4}-\d{2}-\d{2} )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GatewayHome:
    """A Hermes home below a test's folder, and the environment of its processes."""

    home: HermesHome
    environ: Mapping[str, str]

    @property
    def path(self) -> Path:
        return self.home.path

    @property
    def canon_folder(self) -> Path:
        """Where the Canon profiles of its user lie."""
        return Path(self.environ["HOME"], ".canon")

    @property
    def gateway_log(self) -> str:
        """What the gateway has written to its log so far."""
        file = self.path / "logs" / "gateway.log"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    @property
    def logs(self) -> str:
        """Everything that Hermes has written to its logs; versions differ in which of them gets what."""
        files = sorted(self.path.joinpath("logs").glob("*.log"))
        return "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)

    def log_records(self) -> list[str]:
        """The same, one text a record: a line that begins with a date, and what follows it up to the next."""
        return [text for text in _RECORD.split(self.gateway_log) if text]


def quiet_config(model_url: str, plugin: str = "canon-hermes") -> dict[str, Any]:
    """A configuration whose gateway talks to nobody but the model at ``model_url`` and its platforms."""
    return {
        "model": {
            "default": "sandbox-model",
            "provider": "custom",
            "base_url": model_url,
            "api_key": "sandbox",
            "context_length": 200_000,
        },
        "plugins": {"enabled": [plugin]},
        "platforms": {"canon": {"enabled": True}},
        "platform_toolsets": {"canon": ["terminal", "clarify", "canon"]},
        "streaming": {"enabled": True, "transport": "edit", "edit_interval": 0.1, "buffer_threshold": 5},
        "display": {"busy_input_mode": "queue", "tool_progress": "off"},
        "approvals": {"mode": "manual", "timeout": 20},
        "security": {"tirith_enabled": False, "allow_lazy_installs": False},
        "agent": {"environment_probe": False},  # else each gateway asks every python3 and pip on PATH for its version
        "onboarding": {"profile_build": "off"},
        "tools": {"tool_search": {"enabled": "off"}},
        "auxiliary": {"title_generation": {"enabled": False}},
        "memory": {"memory_enabled": False, "user_profile_enabled": False},
        "compression": {"enabled": False},
        "kanban": {"dispatch_in_gateway": False},
    }


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``changes`` laid over it, mapping by mapping; None takes a key away."""
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
            continue
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result


def _one_authority(folder: Path) -> Path:
    """A bundle of one certificate: each of a gateway's many HTTP clients reads it whole, and talks to loopback."""
    end = "-----END CERTIFICATE-----\n"
    bundle = folder / "authorities.pem"
    bundle.write_text(certifi.contents().partition(end)[0] + end, encoding="utf-8")
    return bundle


def build_home(
    folder: Path,
    *,
    model_url: str,
    dotenv: Mapping[str, str],
    config: Mapping[str, Any] | None = None,
    load_anyway: bool = True,
) -> GatewayHome:
    """Write a home below ``folder``.

    Args:
        model_url: the OpenAI-compatible endpoint, with its ``/v1``.
        dotenv: what the home's ``.env`` holds; values are written as they are.
        config: laid over the quiet configuration.
        load_anyway: our plugins load on a host that is not audited, too (:mod:`tests.support.candidate`).
    """
    hermes_home, user_home = folder / "hermes", folder / "user"
    hermes_home.mkdir(parents=True, exist_ok=True)
    user_home.mkdir(parents=True)
    environ = isolated_environ(os.environ, hermes_home=hermes_home, user_home=user_home)
    environ["SSL_CERT_FILE"] = str(_one_authority(user_home))
    settings = merged(quiet_config(model_url), config or {})
    if load_anyway:
        settings["plugins"] |= {"enabled": loaded_as(settings["plugins"]["enabled"], hermes_home)}
    document = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    (hermes_home / "config.yaml").write_text(document, encoding="utf-8")
    env_file = hermes_home / ".env"
    env_file.write_text("".join(f"{name}={value}\n" for name, value in dotenv.items()), encoding="utf-8")
    env_file.chmod(0o600)
    return GatewayHome(resolve_home(environ), environ)
