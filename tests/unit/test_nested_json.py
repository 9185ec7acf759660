"""Every JSON that we read may be nested without measure: by whoever wrote the file, or by a broken program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from borgee_hermes.bpp.errors import ProtocolError
from borgee_hermes.bpp.incoming import read_frame
from borgee_hermes.control.protocol import read_request
from canon_hermes_plugin.approvals.book import BookDamaged
from canon_hermes_plugin.approvals.book import parse as parse_book
from canon_ops.errors import CanonOpsError, InternalError
from canon_ops.hermes.gateway import read_state
from canon_ops.hermes.homes import resolve_home
from canon_ops.hermes.platform_health import PlatformHealth
from canon_ops.operate.carry_profiles import _read as read_carried
from canon_ops.operate.installation import read_installation
from canon_ops.settings.pending import PendingFile
from canon_ops.settings.profiles import AgentsFile, merge_bootstrap
from canon_ops.wire.sse import Frame

DEEP = "[" * 100_000 + "]" * 100_000


def state_of_a_gateway(folder: Path) -> object:
    home = resolve_home({"HOME": str(folder)}, hermes_home=folder)
    (home.path / "gateway_state.json").write_text(DEEP)
    return read_state(home)


def carried_profiles(folder: Path) -> object:
    (folder / "profiles.json").write_text(DEEP)
    return read_carried(folder / "profiles.json")


REFUSED = {
    "agents.json": lambda _: AgentsFile.parse(DEEP.encode(), file="agents.json"),
    "pending-registrations.json": lambda _: PendingFile.parse(DEEP.encode(), file="pending.json"),
    "the bootstrap variable, a list": lambda _: merge_bootstrap(AgentsFile("agents.json", {}), DEEP),
    "the bootstrap variable, an object": lambda _: merge_bootstrap(AgentsFile("agents.json", {}), '{"a":' + DEEP + "}"),
    "detached-approvals.json": lambda _: parse_book(DEEP.encode()),
    "exported profiles": carried_profiles,
    "gateway_state.json": state_of_a_gateway,
    "the record of an installation": lambda folder: read_installation(folder, DEEP.encode()),
    "a frame of Borgee": lambda _: read_frame(DEEP),
    "a line on the control socket": lambda _: read_request(DEEP.encode()),
}


@pytest.mark.parametrize("read", REFUSED.values(), ids=REFUSED)
def test_json_without_a_bottom_is_refused_in_a_sentence(read: Callable[[Path], object], tmp_path: Path) -> None:
    """The refusal is the one that the reader has for anything that it cannot read."""
    with pytest.raises((CanonOpsError, ProtocolError, BookDamaged)) as raised:
        read(tmp_path)

    assert not isinstance(raised.value, InternalError)


def test_json_without_a_bottom_counts_as_none() -> None:
    """Where a wrong shape reads as absent, this does too."""
    assert PlatformHealth.parse(DEEP.encode()) is None
    assert Frame("message.created", None, DEEP).payload() == DEEP
