"""A session of the real host is begun afresh from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from canon_ops.hermes.homes import resolve_home
from canon_ops.hermes.host_call import HostUnusable
from canon_ops.hermes.session_reset import reset_session

KEY = "agent:main:telegram:dm:dm-7"
MAKE = f"""
from gateway.config import Platform, load_gateway_config
from gateway.session import SessionSource, SessionStore
config = load_gateway_config()
store = SessionStore(config.sessions_dir, config)
entry = store.get_or_create_session(SessionSource(platform=Platform("telegram"), chat_id="dm-7", chat_type="dm"))
assert entry.session_key == {KEY!r}, entry.session_key
print(entry.session_id)
"""
LOOK = f"""
from gateway.config import load_gateway_config
from gateway.session import SessionStore
config = load_gateway_config()
print(SessionStore(config.sessions_dir, config).peek_session_id({KEY!r}))
"""


def in_host(script: str, environ: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.host
def test_a_known_session_gets_a_new_id_and_an_unknown_one_is_none(tmp_path: Path) -> None:
    """The host's own store does it; another interpreter without a host is an error, and nothing changes."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "hermes")}
    (tmp_path / "hermes").mkdir()
    home = resolve_home(environ)
    before = in_host(MAKE, environ)

    assert reset_session(Path(sys.executable), home, KEY, environ=environ)
    assert not reset_session(Path(sys.executable), home, "agent:main:borgee:dm:unknown", environ=environ)
    with pytest.raises(HostUnusable):
        reset_session(Path("/bin/false"), home, KEY, environ=environ)

    assert in_host(LOOK, environ) not in (before, "None")
