"""Which credentials are in force, where each value comes from, and what it hides."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import HermesHome
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
    """Look at the platforms named, or at those of both that have anything.

    Args:
        platforms: ``canon``, ``borgee``; empty for whatever is set up.

    Raises:
        UnreadableDotenv, ConfigUnreadable, OutsideError: the home's files cannot be read at all.
    """
    surroundings = surroundings_from_disk(home.path, environ)
    values: list[Value] = []
    problems: list[CanonOpsError] = []
    profile: str | None = None
    if "borgee" not in platforms or "canon" in platforms:
        try:
            found = resolve(surroundings)
            profile = found.profile
            values += [_value("canon", name, setting) for name, setting in found.settings.items()]
        except CanonOpsError as exc:
            problems.append(exc)
            with suppress(CanonOpsError):  # the one above tells more
                values += [_value("canon", name, setting) for name, setting in given_choice(surroundings).items()]
    if "canon" not in platforms or "borgee" in platforms:
        try:
            values.append(_value("borgee", "api_key", _borgee(surroundings)))
        except CanonOpsError as exc:
            problems.append(exc)
    return Credentials(tuple(values), profile, _meant(problems, bool(platforms), bool(values)))


def place_of(origin: Origin) -> Place:
    """An origin as data."""
    return Place(origin.source.value, origin.name, origin.file, origin.line)


def _borgee(surroundings: Surroundings) -> Setting:
    return borgee_key(surroundings).setting


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
