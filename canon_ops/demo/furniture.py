"""What the demo's Hermes home holds before canon-ops touches it: a configuration as people keep it, comments and all.

Every switch that would let the host reach beyond loopback, or change its own environment, is off.
Source: Hermes end-to-end, 2.
"""

from __future__ import annotations

from pathlib import Path

from canon_ops.sandbox.options import ModelEndpoints

__all__ = ["EDITED_PATH", "EDITED_VALUE", "furnish"]

EDITED_PATH = ("streaming", "edit_interval")
EDITED_VALUE = 0.25

_CONFIG = """\
# The demo's Hermes. Comments and spacing are here to be kept.
model:
  provider: custom
  default: {model}
  base_url: {base_url}       # the sandbox's model, on loopback
  api_key: {api_key}
  context_length: 200000     # known, so the endpoint is not probed

streaming:
  enabled: true
  transport: edit
  edit_interval: 0.1         # seconds between two previews of an answer
  buffer_threshold: 5

display:
  busy_input_mode: queue
  tool_progress: "off"       # quoted: a bare off would be a boolean

approvals:
  mode: manual

# --- nothing below leaves this machine or changes the host's own environment ---
security:
  tirith_enabled: false
  allow_lazy_installs: false
agent:
  environment_probe: false   # else it asks every python3 and pip on PATH for its version
onboarding:
  profile_build: "off"
tools:
  tool_search:
    enabled: "off"
auxiliary:
  title_generation:
    enabled: false
memory:
  memory_enabled: false
  user_profile_enabled: false
compression:
  enabled: false
kanban:
  dispatch_in_gateway: false
"""


def furnish(hermes_home: Path, model: ModelEndpoints, *, prompt: str) -> None:
    """Write config.yaml and the agent's identity (``SOUL.md``) into a new home, private from the start."""
    hermes_home.mkdir(parents=True, mode=0o700)
    config = _CONFIG.format(model=model.model, base_url=model.base_url, api_key=model.api_key)
    for name, text in (("config.yaml", config), ("SOUL.md", f"{prompt}\n")):
        file = hermes_home / name
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
