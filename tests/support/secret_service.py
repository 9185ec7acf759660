"""Real D-Bus sessions with a real Secret Service, a locked one, or one that never answers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

__all__ = ["Service", "session"]

Service = Literal["unlocked", "locked", "mute", "none"]

_DAEMON = "gnome-keyring-daemon --foreground --components=secrets"
_STARTS: Mapping[Service, str] = {
    "unlocked": f"printf invented | {_DAEMON} --unlock >/dev/null 2>&1 &",
    "locked": f"{_DAEMON} >/dev/null 2>&1 &",
    "none": "",
}
_MUTE = """
import time
from jeepney import DBusAddress, new_method_call
from jeepney.io.blocking import open_dbus_connection
bus = DBusAddress('/org/freedesktop/DBus', 'org.freedesktop.DBus', 'org.freedesktop.DBus')
connection = open_dbus_connection('SESSION')
connection.send_and_get_reply(new_method_call(bus, 'RequestName', 'su', ('org.freedesktop.secrets', 0)))
time.sleep(600)
"""
_BUS = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <keep_umask/>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""  # without service folders: nothing starts by itself
_IS_OWNED = (
    "dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner "
    "string:org.freedesktop.secrets"
)


@contextmanager
def session(folder: Path, service: Service) -> Iterator[Mapping[str, str]]:
    """A session bus of its own; gives the environment of its programs. Everything ends with the block."""
    for name in ("home", "runtime"):
        (folder / name).mkdir(mode=0o700, parents=True)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder / "runtime"),
        "XDG_DATA_HOME": str(folder / "home" / "share"),
    }
    mute = folder / "mute.py"
    mute.write_text(_MUTE)
    start = f'"{sys.executable}" "{mute}" &' if service == "mute" else _STARTS[service]
    script = f'{start}\necho "$DBUS_SESSION_BUS_ADDRESS"\ncat >/dev/null\nkill $! 2>/dev/null\nwait\n'
    config = folder / "bus.conf"
    config.write_text(_BUS)
    process = subprocess.Popen(
        ["dbus-run-session", f"--config-file={config}", "--", "sh", "-c", script],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        environ["DBUS_SESSION_BUS_ADDRESS"] = process.stdout.readline().strip()
        if service != "none":
            _wait_for_owner(environ)
        yield environ
    finally:
        process.stdin.close()  # `cat` ends, and the session with it
        process.wait(20)
        process.stdout.close()


def _wait_for_owner(environ: Mapping[str, str]) -> None:
    deadline = time.monotonic() + 20
    while (
        "true"
        not in subprocess.run(_IS_OWNED.split(), env=dict(environ), capture_output=True, text=True, check=False).stdout
    ):
        assert time.monotonic() < deadline, "no Secret Service came up"
        time.sleep(0.05)
