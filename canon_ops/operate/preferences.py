"""What the operator likes: ``settings.toml`` of this tool, read strictly, edited without losing a comment.

A value is taken from its ``CANON_OPS_…`` variable, else from the file, else from the table. A name that the table does
not have is told and kept, since a newer release may know it. A value that cannot be meant, or a file that is no TOML,
is an error and never a silent default: a forgotten ``store = "keyring"`` would put a key into a file.

The file is ``$XDG_CONFIG_HOME/canon-ops/settings.toml`` (``~/.config`` without the variable), or what
``CANON_OPS_SETTINGS`` names.

Source: command-line contract, sections 3 and 6; decisions F2.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path

from canon_ops.errors import RefusedError, UsageError
from canon_ops.files.history import Retention
from canon_ops.files.reading import read_optional
from canon_ops.hermes.homes import user_home
from canon_ops.hints import TYPE_CHECKING, Any, ClassVar, Literal
from canon_ops.lean import dataclass

if TYPE_CHECKING:
    import tomlkit

__all__ = [
    "PREFERENCES",
    "BadPreference",
    "Preference",
    "PreferenceInForce",
    "Preferences",
    "PreferencesDocument",
    "find_preference",
    "preferences_file",
    "read_preferences",
]

FILE_VARIABLE = "CANON_OPS_SETTINGS"

Scalar = str | int | float | bool
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


class BadPreference(UsageError):
    """A value that the preference cannot have, or a preference that does not exist."""

    code: ClassVar[str] = "preference_invalid"


class PreferencesDamaged(RefusedError):
    """The file cannot be read as TOML; it is left as it is."""

    code: ClassVar[str] = "preferences_damaged"


@dataclass(frozen=True, slots=True)
class Preference:
    """One row: a dotted name in the file, and the variable that beats it."""

    name: str
    default: Scalar
    help: str
    variable: str
    allowed: tuple[str, ...] = ()
    minimum: float | None = None

    def parse(self, text: str, *, variable: bool = False) -> Scalar:
        """The value that a command line means, or this preference's variable.

        Raises:
            BadPreference: with what mends it.
        """
        word = text.strip()
        value: Scalar = word
        try:
            match self.default:
                case bool():
                    value = word.lower() in _TRUE if word.lower() in _TRUE | _FALSE else word
                case int():
                    value = int(word)
                case float():
                    value = float(word)
                case _:
                    pass
        except ValueError:
            pass
        if variable:
            return self.check(value, self.variable, fix=f"unset {self.variable}")
        return self.check(value)

    def check(self, value: object, where: str = "", *, fix: str | None = None) -> Scalar:
        """``value`` itself when it fits.

        Args:
            where: it stands, when that is not the command line.
            fix: None for the command that sets the preference to its default.

        Raises:
            BadPreference: with the place.
        """
        match self.default:
            case bool():
                fits, wanted = isinstance(value, bool), "true or false"
            case str():
                fits, wanted = value in self.allowed, " or ".join(self.allowed)
            case int():
                fits, wanted = isinstance(value, int) and not isinstance(value, bool), "a whole number"
            case _:
                fits, wanted = isinstance(value, int | float) and not isinstance(value, bool), "a number"
        low = self.minimum
        if low is not None:
            fits = fits and isinstance(value, int | float) and low <= value < float("inf")
            wanted = f"{wanted} from {low:g}"
        if not fits or not isinstance(value, str | int | float | bool):
            raise BadPreference(
                f"{self.name} cannot be {value!r}{where and f' ({where})'}; it must be {wanted}",
                fix=fix or f"canon-ops preferences set {self.name} {str(self.default).lower()}",
            )
        return value


PREFERENCES = (
    Preference(
        "keyring.store", "file", "Where new keys go.", "CANON_OPS_STORE", allowed=("file", "keyring"),
    ),
    Preference("keyring.use", True, "Whether commands ask the system's keyring.", "CANON_OPS_KEYRING"),
    Preference("history.entries", 50, "How many changes can be undone.", "CANON_OPS_HISTORY_ENTRIES", minimum=1),
    Preference("history.days", 90, "For how many days.", "CANON_OPS_HISTORY_DAYS", minimum=1),
    Preference("lock.timeout", 10.0, "Seconds to wait for another's lock.", "CANON_OPS_LOCK_TIMEOUT", minimum=0),
)  # fmt: skip

_BY_NAME = {preference.name: preference for preference in PREFERENCES}


def find_preference(name: str) -> Preference:
    """The row of that name.

    Raises:
        BadPreference: there is none.
    """
    if (found := _BY_NAME.get(name)) is not None:
        return found
    raise BadPreference(f"There is no preference {name!r}", fix=f"one of: {', '.join(_BY_NAME)}")


@dataclass(frozen=True, slots=True)
class PreferenceInForce:
    """A preference as it counts, and where it comes from: ``variable``, ``file`` or ``default``."""

    name: str
    value: Scalar
    source: Literal["variable", "file", "default"]
    help: str


@dataclass(frozen=True, slots=True)
class Preferences:
    """Every preference as it counts.

    Attributes:
        unknown: names in the file that the table does not have; they stay there.
    """

    file: Path
    in_force: tuple[PreferenceInForce, ...]
    unknown: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return next(each.value for each in self.in_force if each.name == name)

    @property
    def retention(self) -> Retention:
        """How much history a commit leaves."""
        return Retention(entries=self["history.entries"], days=self["history.days"])

    @property
    def lock_timeout_s(self) -> float:
        return float(self["lock.timeout"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each unknown name."""
        return tuple(f"{self.file} sets {name}, which this version does not know; it is kept." for name in self.unknown)


class PreferencesDocument:
    """The text of ``settings.toml`` and the edits that can be made to it; comments and order stay."""

    def __init__(self, document: tomlkit.TOMLDocument, file: Path) -> None:
        self._document = document
        self.file = file

    @classmethod
    def parse(cls, data: bytes, file: Path) -> PreferencesDocument:
        """Read the file's bytes.

        Raises:
            PreferencesDamaged: it is no TOML.
        """
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            return cls(tomlkit.parse(data.decode("utf-8")), file)
        except (TOMLKitError, UnicodeDecodeError) as exc:
            line = getattr(exc, "line", None)
            where = f" from line {line} on" if line else ", or no UTF-8" if isinstance(exc, UnicodeDecodeError) else ""
            raise PreferencesDamaged(
                f"{file} is not TOML{where}", fix=f"repair {file} by hand, or move it away", file=str(file), line=line
            ) from exc

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        import tomlkit

        return tomlkit.dumps(self._document).encode()

    @property
    def values(self) -> dict[str, object]:
        """Every leaf by its dotted name."""
        return dict(_leaves(self._document.unwrap()))

    def set(self, name: str, value: Scalar) -> None:
        """Give a preference a value."""
        section, _, key = name.partition(".")
        table = self._document.get(section)
        if not isinstance(table, MutableMapping):
            if table is not None:
                raise BadPreference(f"{section} is no table in {self.file}", fix=f"remove the line {section} there")
            import tomlkit

            table = tomlkit.table()
            self._document[section] = table
        table[key] = value

    def unset(self, name: str) -> None:
        """Drop a preference, and its table when nothing else was in it; absent is fine."""
        from tomlkit.items import Table

        section, _, key = name.partition(".")
        table = self._document.get(section)
        if isinstance(table, MutableMapping) and key in table:
            del table[key]
            if isinstance(table, Table) and not table and "#" not in table.as_string():
                del self._document[section]


def preferences_file(environ: Mapping[str, str]) -> Path:
    """Where the file is, or would be."""
    if told := environ.get(FILE_VARIABLE, "").strip():
        return Path(told).expanduser()
    base = environ.get("XDG_CONFIG_HOME", "").strip()
    folder = Path(base) if base.startswith("/") else user_home(environ) / ".config"  # the XDG rule: absolute or nothing
    return folder / "canon-ops" / "settings.toml"


def read_preferences(environ: Mapping[str, str], *, mending: bool = False) -> Preferences:
    """Every preference as it counts in this environment; nothing is created.

    Args:
        mending: for the commands that edit the file, which must not be stopped by what they are about to mend: a value
            in it that cannot be meant is not there.

    Raises:
        PreferencesDamaged, BadPreference: the file, or a value in it or in a variable, cannot be meant.
        OutsideError: the file cannot be opened.
    """
    file = preferences_file(environ)
    data = read_optional(file)
    values = PreferencesDocument.parse(data, file).values if data else {}
    if mending:
        values = {name: value for name, value in values.items() if name not in _BY_NAME or _fits(name, value)}
    in_force = tuple(_in_force(preference, environ, values, file) for preference in PREFERENCES)
    return Preferences(file, in_force, tuple(name for name in values if name not in _BY_NAME))


def _fits(name: str, value: object) -> bool:
    try:
        _BY_NAME[name].check(value)
    except BadPreference:
        return False
    return True


def _in_force(
    preference: Preference, environ: Mapping[str, str], values: Mapping[str, object], file: Path
) -> PreferenceInForce:
    name = preference.name
    if text := environ.get(preference.variable, "").strip():
        return PreferenceInForce(name, preference.parse(text, variable=True), "variable", preference.help)
    if name in values:
        return PreferenceInForce(name, preference.check(values[name], str(file)), "file", preference.help)
    return PreferenceInForce(name, preference.default, "default", preference.help)


def _leaves(tree: Mapping[str, object], above: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            found += _leaves(value, f"{above}{name}.")
        else:
            found.append((f"{above}{name}", value))
    return found
