"""One run of the program: its options, the surroundings of the process, what may be asked, and how to speak.

A :class:`Session` exists before anything is parsed, so that a wrong call is answered in the form that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from canon_ops.cli.colour import ColourChoice, wants_colour
from canon_ops.cli.redaction import Redactor
from canon_ops.cli.streams import Stream, Streams
from canon_ops.errors import CanonOpsError, UsageError
from canon_ops.hints import TYPE_CHECKING
from canon_ops.lean import dataclass, field

if TYPE_CHECKING:
    from canon_ops.cli.terminal import Canvas
    from canon_ops.hermes.home_need import HomeNeed
    from canon_ops.hermes.homes import HermesHome
    from canon_ops.operate.preferences import Preferences

__all__ = ["CommonOptions", "Program", "Session", "WriteOptions"]

_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})  # the words that click takes for a switch


@dataclass(frozen=True, slots=True)
class Program:
    """The name under which the program was started, and the platform that the name implies."""

    name: str
    platform: str = ""


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """The options that every command takes. Source: command-line contract, section 3."""

    hermes_profile: str | None = None
    hermes_home: Path | None = None
    json: bool = False
    plain: bool = False
    no_input: bool = False
    yes: bool = False
    quiet: bool = False
    verbose: bool = False
    color: ColourChoice = "auto"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options that every writing command takes besides. Source: command-line contract, section 3; decisions L4.

    Attributes:
        dry_run: say what would change, and change nothing.
        diff: show the change line by line.
        if_unchanged: (file, SHA-256) of what the caller last saw; the file is None when the only changed one is meant.
    """

    dry_run: bool = False
    diff: bool = False
    if_unchanged: tuple[tuple[Path | None, str], ...] = ()

    def expected_of(self, *files: Path) -> tuple[tuple[Path | None, str], ...]:
        """The digests, for a command that can hold these files to one; relative names lie beside the first.

        Raises:
            UsageError: another file is named.
        """
        for file, _ in self.if_unchanged:
            if file is not None and files[0].parent / file not in files:
                names = ", ".join(str(name) for name in files)
                raise UsageError(
                    f"--if-unchanged can be given here for {names} only.", fix="leave out that --if-unchanged"
                )
        return self.if_unchanged


@dataclass(slots=True)
class Session:
    """One run of the program.

    Attributes:
        words: the command's words as far as they are known.
        schema_version: of the command's JSON document.
        is_event_stream: documents follow each other, one a line.
        home_need: what the command needs of the home; None for one that tells what is in it.
        options: of the command line; until it has been parsed, the defaults and what was asked of the output.
    """

    program: Program
    arguments: Sequence[str]
    environ: Mapping[str, str]
    streams: Streams
    words: tuple[str, ...] = ()
    schema_version: int = 1
    is_event_stream: bool = False
    home_need: HomeNeed | None = None
    options: CommonOptions = field(default_factory=CommonOptions)
    is_parsed: bool = False
    redact: Redactor = field(init=False)
    _home: HermesHome | None = field(init=False, default=None)
    _preferences: Preferences | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.redact = Redactor(self.environ)
        self.streams.out.redact = self.streams.err.redact = self.redact
        self.options = CommonOptions(json=self._json_was_meant())

    def _json_was_meant(self) -> bool:
        """Whether a call that may never parse asked for JSON: a wrong call is answered in the form asked for."""
        options = list(self.arguments)
        if "--" in options:
            options = options[: options.index("--")]
        return "--json" in options or self.environ.get("CANON_OPS_JSON", "").lower() in _TRUE

    @property
    def may_ask(self) -> bool:
        """Whether a question would reach a person who can answer it."""
        options = self.options
        return self.streams.are_terminals and not (options.no_input or options.json) and not self.environ.get("CI")

    @property
    def for_people(self) -> bool:
        """Whether the answer is drawn for a terminal, rather than written as records or as JSON."""
        return self.streams.out.is_terminal and not (self.options.plain or self.options.json)

    def home(self) -> HermesHome:
        """The Hermes home that the command acts on, resolved as the ``hermes`` command would.

        Raises:
            UsageError, NotFoundError: no such Hermes profile.
            HomeMissing, HomeForeign: there is no home, and the command needs one.
        """
        if self._home is None:
            from canon_ops.hermes.home_need import HomeNeed, look_at, refusal

            home = self._chosen_home()
            if (error := refusal(home, look_at(home), self.home_need or HomeNeed.THERE)) is not None:
                raise error
            self._home = home
            self._name_interrupted(home)
        return self._home

    def _chosen_home(self) -> HermesHome:
        """The same, whether it is there or not."""
        from canon_ops.hermes.homes import resolve_home

        options = self.options
        return self._home or resolve_home(self.environ, profile=options.hermes_profile, hermes_home=options.hermes_home)

    def _name_interrupted(self, home: HermesHome) -> None:
        """Say that what a command reads may be half of a change; two looks at the disk where there is none."""
        state = home.path / ".canon-ops"
        try:
            if not any((state / name).exists() for name in ("pending", "pending-at")):
                return
        except OSError as error:  # it is its owner's alone, who let others read the files
            from canon_ops.files.disk import explain

            self.say(f"Warning: {explain(error, state, verb='read').sentence}")
            return
        from canon_ops.operate.interrupted import find_interrupted_changes, told

        try:
            half = [each for each in find_interrupted_changes([home.path]) if each.is_half]
        except CanonOpsError as error:
            self.say(f"Warning: {error.sentence}")
            return
        for each in half:
            self.say(f"Warning: {told(each)}")
            self.say(f"  fix: {home.own_command('history finish')}")

    def preferences(self, *, mending: bool = False) -> Preferences:
        """What the operator likes; what their file sets and nobody knows is told once.

        Args:
            mending: pass over values of the file that cannot be meant, from here on.

        Raises:
            BadPreference, PreferencesDamaged: the file or a variable cannot be meant.
        """
        if self._preferences is None:
            from canon_ops.operate.preferences import read_preferences

            self._preferences = read_preferences(self.environ, mending=mending)
            for warning in self._preferences.warnings:
                self.say(f"Warning: {warning}")
        return self._preferences

    def hermes_names(self) -> tuple[str | None, str | None]:
        """Profile name and home for the envelope; neither when the call or the profile cannot be understood."""
        if not self.is_parsed:
            return None, None
        try:
            home = self._chosen_home()
        except Exception:  # the envelope of a failure must appear whatever is wrong with the home
            return None, None
        return home.profile_name, str(home.path)

    def learn_secrets_of_home(self) -> None:
        """Take every secret of the home's files before a diff or a traceback is shown: either may quote any of them."""
        from canon_ops.cli.secrets_of_home import learn_secrets

        try:
            home = self.home()
        except Exception:  # this may already be the report of a failure: a home that cannot be found is not quoted
            return
        learn_secrets(self.redact, home, self.environ)

    def canvas(self, stream: Stream) -> Canvas:
        """What ``stream`` can show."""
        from canon_ops.cli.terminal import Canvas

        return Canvas(
            width=stream.width,
            colour=wants_colour(self.options.color, self.environ, is_terminal=stream.is_terminal),
            unicode=stream.can_encode("✓✗…"),
        )

    def say(self, text: str) -> None:
        """One line of conversation on stderr; ``--quiet`` silences it."""
        if not self.options.quiet:
            from canon_ops.cli.terminal import visible, wrapped

            err, shown = self.streams.err, visible(text)
            is_sentence = shown[:1].isalnum() and shown.endswith(".") and "\n" not in shown  # no line of a diff
            lines = wrapped(shown, err.width, 0) if err.is_terminal and is_sentence else [shown]
            err.write("".join(f"{line}\n" for line in lines))

    def detail(self, text: str) -> None:
        """One line on stderr that only ``--verbose`` asks for."""
        if self.options.verbose:
            self.say(text)
