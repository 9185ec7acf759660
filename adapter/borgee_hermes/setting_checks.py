"""What Borgee's settings say to the doctor, one question a function. Loaded only where Borgee is used.

Two of the settings hold for every platform of the gateway. ``--fix`` writes them only where nobody has written them and
no other platform is switched on; anywhere else the command is offered, and a person decides.

Source: Borgee 2; decisions B3.
"""

from __future__ import annotations

from collections.abc import Mapping

from canon_ops.doctor.check import Answer, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import SetConfig, UnsetConfig
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.borgee_block import SHARED_SESSIONS, borgee_extra, shared_sessions_path
from canon_ops.hermes.config_file import HermesConfig
from canon_ops.settings.borgee import BUSY_MODE, KEY_NAMES, REFUSED_KEYS, read_borgee
from canon_ops.settings.borgee_key import borgee_key

__all__ = ["look_at_busy_mode", "look_at_config", "look_at_key", "look_at_sessions", "look_at_streaming"]

_SWITCHED_ELSEWHERE = frozenset({"canon", "borgee"})  # config.dropped_key tells about these


def look_at_config(examination: Examination) -> Answer:
    """``borgee.config``: the values, and a key where no key may stand."""
    config = examination.config()
    extra, file = borgee_extra(config), str(config.file)
    found = [_key_in_config(examination, place, file) for place in _keys_in(extra)]
    try:
        options = read_borgee(extra, config_file=file)
    except CanonOpsError as error:
        return (*found, from_error(Status.ERROR, error))
    if found:
        return tuple(found)
    return Finding(Status.OK, f"Borgee is at {options.origin}.", at=Place(file), data={"base_url": options.origin})


def _keys_in(extra: Mapping[str, object]) -> list[str]:
    refused = extra.get(REFUSED_KEYS)
    told = [str(place) for place in refused] if isinstance(refused, list | tuple) else []
    below = [f"platforms.borgee.extra.{name}" for name in KEY_NAMES if extra.get(name)]
    return list(dict.fromkeys([*told, *below]))


def _key_in_config(examination: Examination, place: str, file: str) -> Finding:
    """A key that stands in ``.env`` too may go; the only copy of one is a person's to move."""
    try:
        borgee_key(examination.variables())
        fix = Fix(examination.command(f"config unset {place}"), UnsetConfig(place))
    except CanonOpsError:
        unset = examination.command(f"config unset {place}")
        fix = Fix(f"{examination.command('env set BORGEE_API_KEY')}, then {unset}")
    told = f"{place} holds a key; Borgee's key comes only from BORGEE_API_KEY, and the adapter refuses to start."
    return Finding(Status.ERROR, told, fix, Place(file, path=place))


def look_at_key(examination: Examination) -> Answer:
    """``borgee.key``: whether there is one, and what it hides."""
    try:
        found = borgee_key(examination.variables())
    except CanonOpsError as error:
        finding = from_error(Status.ERROR, error)
        return Finding(
            finding.status, finding.message, Fix(examination.command("setup borgee")), finding.at, finding.data
        )
    origin = found.setting.origin
    at = Place(origin.file, origin.line, path=found.setting.name)
    if found.setting.shadows:
        hidden = " and ".join(shadow.origin.describe() for shadow in found.setting.shadows)
        told = f"Borgee's key in force is {origin.describe()}; it hides {hidden}."
        return Finding(Status.WARNING, told, Fix(found.setting.shadows[0].origin.to_drop()), at)
    where = "refers to the keyring" if found.api_key_ref else "is there"
    return Finding(Status.OK, f"Borgee's key {where}: {origin.describe()}.", at=at)


def look_at_sessions(examination: Examination) -> Answer:
    """``borgee.sessions``: the one setting that every platform of a gateway shares and Borgee needs otherwise."""
    config = examination.config()
    path = shared_sessions_path(config)
    if borgee_extra(config)[SHARED_SESSIONS] is False:
        return Finding(Status.OK, "Everybody in a channel shares one session.", at=Place(str(config.file), path=path))
    why = "Borgee refuses to start, because everybody in a channel must share one session"
    return _shared(examination, path, False, f"{path} is {_written(config, path)}: {why}.")


def look_at_busy_mode(examination: Examination) -> Answer:
    """``borgee.busy_mode``: Borgee's own mode counts before the one for all."""
    config = examination.config()
    if borgee_extra(config).get(BUSY_MODE) == "queue":
        return Finding(Status.OK, "Messages wait while a turn runs.", at=Place(str(config.file)))
    own, common = "borgee.display.busy_input_mode", "display.busy_input_mode"
    path = own if _value(config, own) else common
    told = f"{path} is {_written(config, path)}: Borgee refuses to start, because its messages must wait for a turn."
    if path == own:
        return Finding(
            Status.ERROR,
            told,
            Fix(examination.command(f"config set {own} queue"), SetConfig(own, "queue")),
            Place(str(config.file), path=own),
        )
    return _shared(examination, path, "queue", told)


def look_at_streaming(examination: Examination) -> Answer:
    """``borgee.streaming``: a switch that a page names and no audited host reads. Source: decisions B3."""
    config = examination.config()
    found = []
    for base in ("platforms", "gateway.platforms"):
        for name in sorted(set(_mapping(_value(config, base))) - _SWITCHED_ELSEWHERE):
            path = f"{base}.{name}.display.streaming"
            if (value := _value(config, path)) is None:
                continue
            switch = value.get("enabled") if isinstance(value, Mapping) else value
            word = str(switch).lower() if isinstance(switch, bool) else "true"
            instead = examination.command(f"config set display.platforms.{name}.streaming {word}")
            unset = examination.command(f"config unset {path}")
            told = f"{path} is read by no audited Hermes: it switches nothing."
            found.append(
                Finding(Status.WARNING, told, Fix(f"{instead}, then {unset}"), Place(str(config.file), path=path))
            )
    return tuple(found) or Finding(Status.OK, "Streaming is switched where Hermes looks.", at=Place(str(config.file)))


def _shared(examination: Examination, path: str, value: bool | str, told: str) -> Finding:
    """A setting of the whole gateway: written by ``--fix`` only where that is nobody else's business."""
    config = examination.config()
    others = _others_on(config)
    is_free = _value(config, path) is None and not others
    whose = f" It holds for {' and '.join(others)} too." if others else ""
    word = str(value).lower() if isinstance(value, bool) else value
    fix = Fix(examination.command(f"config set {path} {word}"), SetConfig(path, value) if is_free else None)
    return Finding(Status.ERROR, told + whose, fix, Place(str(config.file), path=path), {"shared_with": others})


def _others_on(config: HermesConfig) -> list[str]:
    """The other platforms that the file switches on."""
    nested = _mapping(_mapping(config.tree.get("gateway")).get("platforms"))
    names = {*map(str, _mapping(config.tree.get("platforms"))), *map(str, nested)} - {"borgee"}
    return sorted(name for name in names if config.platform_switch(name) is True)


def _written(config: HermesConfig, path: str) -> str:
    value = _value(config, path)
    if value is None:
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(config: HermesConfig, path: str) -> object:
    value: object = config.tree
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
