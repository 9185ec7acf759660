"""Which credentials are in force, where each value comes from, and what it hides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platforms import PLATFORMS, row_of
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.settings.borgee_key import borgee_key
from canon_ops.settings.credentials import given_choice, resolve
from canon_ops.settings.problems import BorgeeKeyMissing, NotConfigured
from canon_ops.settings.provenance import Origin, Setting
from canon_ops.settings.secret import Secret
from canon_ops.settings.surroundings import Surroundings

__all__ = ["Credentials", "Place", "Value", "list_credentials", "place_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands.

    Attributes:
        source: ``process``, ``dotenv``, ``config``, ``bootstrap``, ``agents_file``, ``option``, ``default``.
        name: the variable, the dotted path, or the profile's field.
    """

    source: str
    name: str
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Value:
    """One value in force.

    Attributes:
        value: null for a secret.
        hint: at most its last four characters, for a person's terminal only.
        hides: the places whose values do not count because of this one, strongest first.
    """

    platform: str
    name: str
    value: str | None
    secret: bool
    place: Place
    hides: tuple[Place, ...]
    described: str
    hint: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is in force on one home.

    Attributes:
        canon_profile: the Canon profile in use; None with a key set directly.
        problems: why a platform that is meant to have a credential has none.
    """

    values: tuple[Value, ...]
    canon_profile: str | None
    problems: tuple[CanonOpsError, ...]


def list_credentials(home: HermesHome, environ: Mapping[str, str], platforms: tuple[str, ...]) -> Credentials:
    """Look at the platforms named, or at those of all that have anything.

    Args:
        platforms: names of our table; empty for whatever is set up.

    Raises:
        UnreadableDotenv, ConfigUnreadable, OutsideError: the home's files cannot be read at all.
    """
    surroundings = surroundings_from_disk(home.path, environ)
    seen = [_look(name, surroundings) for name in PLATFORMS if not platforms or name in platforms]
    values = tuple(value for one in seen for value in one.values)
    problems = [problem for one in seen for problem in one.problems]
    profile = next((one.canon_profile for one in seen if one.canon_profile), None)
    return Credentials(values, profile, _meant(problems, bool(platforms), bool(values)))


def place_of(origin: Origin) -> Place:
    """An origin as data."""
    return Place(origin.source.value, origin.name, origin.file, origin.line)


def _look(name: str, surroundings: Surroundings) -> Credentials:
    """At one platform, with whatever is in the way."""
    try:
        return row_of(_LOOKS, name, "list a credential")(surroundings)
    except CanonOpsError as exc:
        return Credentials((), None, (exc,))


def _canon(surroundings: Surroundings) -> Credentials:
    try:
        found = resolve(surroundings)
    except CanonOpsError as exc:
        given: Mapping[str, Setting] = {}
        with suppress(CanonOpsError):  # the one above tells more
            given = given_choice(surroundings)
        return Credentials(_values("canon", given), None, (exc,))
    return Credentials(_values("canon", found.settings), found.profile, ())


def _borgee(surroundings: Surroundings) -> Credentials:
    return Credentials(_values("borgee", {"api_key": borgee_key(surroundings).setting}), None, ())


_LOOKS: Mapping[str, Callable[[Surroundings], Credentials]] = {"canon": _canon, "borgee": _borgee}


def _values(platform: str, settings: Mapping[str, Setting]) -> tuple[Value, ...]:
    return tuple(_value(platform, name, setting) for name, setting in settings.items())


def _meant(problems: list[CanonOpsError], asked: bool, has_any: bool) -> tuple[CanonOpsError, ...]:
    """A platform that nobody asked about and nobody has set up is no problem; nothing at all is Canon's."""
    absent = [each for each in problems if isinstance(each, NotConfigured | BorgeeKeyMissing)]
    if asked or len(absent) == 0:
        return tuple(problems)
    real = [each for each in problems if each not in absent]
    return tuple(real if has_any or real else absent[:1])


def _value(platform: str, name: str, setting: Setting) -> Value:
    is_secret = isinstance(setting.value, Secret)
    return Value(
        platform=platform,
        name=name,
        value=None if is_secret else str(setting.value),
        secret=is_secret,
        place=place_of(setting.origin),
        hides=tuple(place_of(shadow.origin) for shadow in setting.shadows),
        described=setting.origin.describe(),
        hint=setting.shown,
    )
