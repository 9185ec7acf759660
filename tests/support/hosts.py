"""What an end-to-end scenario may expect of the host it runs on: one row a Hermes version.

A scenario names no version. Where hosts differ in what a person sees, it asks :data:`THIS_HOST`, and the row says what
the difference is and why. What the plugin itself treats differently stands in ``canon_hermes_plugin/host.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from canon_hermes_plugin.host import read_host_facts

__all__ = ["ROWS", "THIS_HOST", "HostRow"]

_NO_CATALOGUE: Final = "gateway.status.session_id"  # the fork's wheel lacks the texts: their keys are shown instead


@dataclass(frozen=True, slots=True)
class HostRow:
    """One Hermes.

    Attributes:
        hermes: ``hermes_cli.__version__``.
        status_text: what the reply to ``/status`` holds.
        inner_home_is_root: a HERMES_HOME inside ``~/.hermes`` is looked for profiles itself, so a sticky choice of
            ``~/.hermes`` is not found there and Hermes refuses to start.
        knows_every_supervisor: more than the S6 marker keeps a home from following the sticky choice.
        buries_profiles: a profile that was deleted stays so, even when a stray process makes its folder again.
        unlike_env: files of tests/unit/settings/test_dotenv.py that the host reads otherwise than we do: UTF-16 is no
            text to one, a byte-order mark belongs to the first name for two, and one keeps a carriage return in quotes.
        closes_code: a draft or an answer that ends within code is closed by the host itself.
        own_faults: beginnings of errors that the host logs about itself, without any plugin.
        asks_in_lists: a model asks its human several questions in one call, and has their answers in one list.
        trims_home: blanks around a HERMES_HOME hide no sticky choice: the folder without them has its own obeyed.
        hands_on_every_key: a platform's block may hold any key, and all of it reaches the adapter.
        reads_pins_as_dotenv: the administrator's .env is read like a person's, with ``export`` and quotes.
        approval_command: what a prompt in words tells people to type, where the host lacks the texts their key.
        failure_key: what stands for the sentence about a run that broke, where the host lacks the texts.
    """

    hermes: str
    status_text: str = "Session ID"
    inner_home_is_root: bool = False
    knows_every_supervisor: bool = False
    buries_profiles: bool = False
    unlike_env: tuple[str, ...] = ()
    closes_code: bool = False
    own_faults: tuple[str, ...] = ()
    asks_in_lists: bool = False
    trims_home: bool = False
    hands_on_every_key: bool = False
    reads_pins_as_dotenv: bool = False
    approval_command: str = "/approve"
    failure_key: str | None = None

    def failure_text(self, error: str) -> str:
        """What the host's notice of a run that broke holds."""
        return self.failure_key or error


ROWS: Final[tuple[HostRow, ...]] = (
    HostRow("0.18.2", unlike_env=("utf-16",)),
    HostRow("0.19.0"),
    HostRow(
        "0.21.0.post1",
        status_text=_NO_CATALOGUE,
        inner_home_is_root=True,
        knows_every_supervisor=True,
        buries_profiles=True,
        unlike_env=("byte-order mark",),
        closes_code=True,
    ),
    HostRow(
        "0.22.2.post1",
        status_text=_NO_CATALOGUE,
        inner_home_is_root=True,
        knows_every_supervisor=True,
        buries_profiles=True,
        unlike_env=("byte-order mark", "crlf"),
        closes_code=True,
        own_faults=("Group Chat worker failed to start", "Supervised task hosted_room_worker died"),
        asks_in_lists=True,
        trims_home=True,
        hands_on_every_key=True,
        reads_pins_as_dotenv=True,
        approval_command="gateway.exec_approval.text_choice_once",
        failure_key="gateway.notify.turn_error_detailed",
    ),
)


def _this_host() -> HostRow:
    """The row of the host that is installed here; a host without one is taken as the newest that has one."""
    version = read_host_facts().version
    return next((row for row in ROWS if row.hermes == version), ROWS[-1])


THIS_HOST: Final = _this_host()
