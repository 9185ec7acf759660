"""What the gateway, the inbox and the locks say to the doctor about Borgee. Loaded only where Borgee is used.

Looking never writes, and a gateway may have the inbox open meanwhile.

Source: Borgee 3, 4; decisions B2.
"""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from borgee_hermes.inbox import operator
from borgee_hermes.inbox.operator import Stats
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.problems import UnknownContent
from borgee_hermes.inbox.records import Status as State
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.locks.identity import CREDENTIAL_SCOPE, PROFILE_SCOPE, identities
from canon_ops.doctor.check import Answer, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.checks.held_stream import held_stream
from canon_ops.doctor.examination import Examination, FactMissing
from canon_ops.doctor.repair import MakePrivate
from canon_ops.durable import Snapshot, find_damage, read_once
from canon_ops.durable.problems import DurableError, NoDatabase
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.borgee_block import borgee_extra
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.hermes.scoped_locks import lock_owner
from canon_ops.operate.profile_key import key_of_borgee
from canon_ops.settings.borgee import BorgeeOptions, read_borgee
from canon_ops.settings.borgee_key import borgee_key
from canon_ops.settings.secret import Secret

__all__ = ["look_at_gateway", "look_at_inbox", "look_at_locks", "look_at_quarantine", "whom_to_ask"]

LATE_S: Final = 600  # ours: a turn may take that long, and a message behind it waits
SHOWN: Final = 5


def look_at_gateway(examination: Examination) -> Answer:
    """``borgee.gateway``: what a gateway that runs says of Borgee; gateway.running tells whether one does."""
    state = examination.gateway()
    if state is None or not state.is_alive:
        return Finding(Status.OK, "No gateway runs, so there is no connection to look at.")
    entry = state.platforms.get("borgee")
    restart = Fix(examination.home.command("gateway restart") + "   (after the other findings are mended)")
    if entry is None:
        told = f"A gateway runs (pid {state.pid}) without Borgee: the plugin was not loaded or not configured."
        return Finding(Status.ERROR, told, restart)
    if entry.state == "connected":
        wrong = held_stream(examination, PLATFORMS["borgee"], stream="connection")
        return wrong or Finding(Status.OK, f"The gateway (pid {state.pid}) is connected to Borgee.")
    why = f": {entry.error_message}" if entry.error_message else ""
    return Finding(
        Status.ERROR if entry.state in ("fatal", "retrying", "disconnected") else Status.INFO,
        f"The gateway (pid {state.pid}) says that Borgee is {entry.state}{why}.",
        restart,
        data={"state": entry.state, "error_code": entry.error_code},
    )


def look_at_inbox(examination: Examination) -> Answer:
    """``borgee.inbox``: the file, and whether what waits in it is worked off."""
    path = inbox_file(examination.home.path)
    if not path.exists():
        return Finding(Status.OK, "No Borgee message has been stored yet.", at=Place(str(path)))
    if (opened := _open_to_others(path)) is not None:
        return opened
    try:
        damage, stats = read_once(path, SCHEMA, partial(_read, is_owned=_is_owned(examination)))
    except UnknownContent as error:
        fix = Fix(f"stop the gateway, and keep {path} elsewhere: the next start begins an empty one")
        return Finding(Status.ERROR, f"{error.what} ({path}).", fix, Place(str(path)), {"code": error.code})
    except DurableError as error:
        return from_error(Status.ERROR, error)
    if stats is None:
        fix = Fix(f"stop the gateway, then: sqlite3 {path} .recover > recovered.sql")
        data = {"damage": list(damage)}
        return Finding(Status.ERROR, f"{path} is damaged: {damage[0]}.", fix, Place(str(path)), data)
    counts = {state.value: count for state, count in stats.by_status.items() if count}
    waiting, oldest_s = stats.by_status[State.PENDING], stats.oldest_free_s
    age_s = examination.clock.now_ms() / 1_000 - oldest_s if oldest_s is not None else 0.0
    if oldest_s is not None and age_s > LATE_S:
        free = waiting - sum(one.waiting for one in stats.blocked)  # those are told by borgee.quarantine
        told = f"{_messages(free)}; the oldest came {_time(oldest_s)}."
        fix = Fix(examination.home.command("gateway restart") + "   (a gateway takes up what waits)")
        return Finding(Status.WARNING, told, fix, Place(str(path)), counts)
    told = f"{_messages(waiting)}." if waiting else "No Borgee message waits."
    return Finding(Status.OK, told, at=Place(str(path)), data=counts)


def _messages(waiting: int) -> str:
    return "1 Borgee message waits" if waiting == 1 else f"{waiting} Borgee messages wait"


def _open_to_others(file: Path) -> Finding | None:
    mode = stat.S_IMODE(file.lstat().st_mode)
    if file.is_symlink() or not mode & 0o077:
        return None
    fix = Fix(f"chmod 600 {file}", MakePrivate(file))
    told = f"{file} has mode {mode:04o}: others can read what people said, and the adapter refuses the file."
    return Finding(Status.ERROR, told, fix, Place(str(file)))


def _read(snapshot: Snapshot, *, is_owned: bool) -> tuple[tuple[str, ...], Stats | None]:
    """What is wrong with the file; only one that is whole is counted."""
    damage = find_damage(snapshot)
    return damage, None if damage else operator.stats(snapshot, is_owned=is_owned)


def _is_owned(examination: Examination) -> bool:
    """Whether somebody works on what is claimed; a gateway of which nothing can be read may be at work."""
    try:
        state = examination.gateway()
    except FactMissing:
        return True
    return state is not None and state.is_alive


def look_at_quarantine(examination: Examination) -> Answer:
    """``borgee.quarantine``: a row for each session that waits for a person. Source: Borgee 4.10, W1."""
    path = inbox_file(examination.home.path)
    try:
        blocked = read_once(path, SCHEMA, partial(operator.stats, is_owned=_is_owned(examination))).blocked
    except NoDatabase:
        blocked = ()
    except DurableError as error:
        raise FactMissing("borgee.inbox") from error
    found = [
        Finding(
            Status.WARNING,
            f"{one.session_key} {one.told}.",
            Fix(examination.command(f"inbox show {one.by_seq}") + "   (then inbox discard, or inbox requeue)"),
            Place(str(path)),
            {"session_key": one.session_key, "seq": one.by_seq, "waiting": one.waiting},
        )
        for one in blocked[:SHOWN]
    ]
    if len(blocked) > SHOWN:
        more = f"And {len(blocked) - SHOWN} more sessions wait for a decision."
        found.append(Finding(Status.WARNING, more, Fix(examination.command("inbox stats"))))
    return tuple(found) or Finding(Status.OK, "No session waits for a decision.", at=Place(str(path)))


def look_at_locks(examination: Examination) -> Answer:
    """``borgee.locks``: a process that has the home or the key, and is not this home's gateway."""
    options, key = whom_to_ask(examination)
    home = examination.home.path
    wanted = identities(home, options.origin, key)
    state = examination.gateway()
    own = state.pid if state is not None and state.is_alive else None
    pairs = (
        (PROFILE_SCOPE, wanted.profile, f"This home ({home})"),
        (CREDENTIAL_SCOPE, wanted.resource, "Borgee's key"),
    )
    found = []
    for scope, identity, what in pairs:
        owner = lock_owner(scope, identity, examination.environ)
        if owner is None or not owner.is_alive or owner.pid == own:
            continue
        told = f"{what} is in use by process {owner.pid}, which is not this home's gateway: Borgee will not connect."
        found.append(Finding(Status.ERROR, told, Fix(f"ps -o args= -p {owner.pid}"), data={"pid": owner.pid}))
    return tuple(found) or Finding(Status.OK, "Nobody else has this home or its key for Borgee.")


def whom_to_ask(examination: Examination) -> tuple[BorgeeOptions, Secret]:
    """Server and key of this home.

    Raises:
        FactMissing: borgee.config or borgee.key tells why there is none.
    """
    try:
        options = read_borgee(borgee_extra(examination.config()))
    except CanonOpsError as error:
        raise FactMissing("borgee.config") from error
    try:
        return options, key_of_borgee(borgee_key(examination.variables()), examination.keyring)
    except CanonOpsError as error:
        raise FactMissing("borgee.key") from error


def _time(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M} UTC"
