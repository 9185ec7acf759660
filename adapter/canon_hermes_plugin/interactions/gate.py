"""Who may answer what, when people type into a session in which somebody is asked. Pure.

The host takes whatever is typed into a session for the answer to what that session waits with. On Canon a session may
have many people in it, and a question has one. So everything that comes for the host passes here first, whoever brings
it: the stream, the replay of the host's start, a wake of ours, an event of the host's own.

==============================================  ===================================================================
what comes, while the session waits             what is done with it
==============================================  ===================================================================
the asked person's words, or the owner's        the host has them: they are the answer
the same with files                             the words are the answer, the whole message waits for its own turn
anybody else's words or files; what is ours;    an ordinary message: what its intent says, but never an answer
what comes when the answer was given
a decision about a command, by who may allow it the host has it
a decision about a command, by anybody else     nothing is decided, and its author is told why
``/yolo`` and its kin, by the owner             the host has it
``/yolo`` and its kin, by anybody else          likewise refused, whether the session waits or not
==============================================  ===================================================================

Where nobody is named, the owner is asked; where the owner is not known either, nobody's yes counts.

Source: canon-adapter R9.2, R9.10, R9.17, R5.19; D16, D64; docs/decisions/0039.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from canon_hermes_plugin.interactions.command_approval import Asked
from canon_hermes_plugin.interactions.typed import confirms, decides, is_owners_alone

__all__ = ["NOT_YOURS", "OWNERS", "Confirmation", "Open", "Question", "Said", "Verdict", "Way", "judge"]

NOT_YOURS: Final = "Only the owner of this agent, or the person who was asked, can decide about this command."
OWNERS: Final = "Only the owner of this agent can decide about this command: it would run with other rights."
OWNERS_ALONE: Final = "Only the owner of this agent can use this command: it changes what people are asked about."
CONFIRMING: Final = "Only the owner of this agent, or the person who typed the command, can confirm it."
FOR_GOOD: Final = "Only the owner of this agent can have this confirmed for good."


class Way(StrEnum):
    """What is done with a message."""

    LET_IN = "let in"
    ASIDE = "aside"  # it is no answer, whatever it says
    SPLIT = "split"  # its words are the answer, its files come with their own turn
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A way, and for a refusal the sentence for the author."""

    way: Way
    sentence: str = ""


PASS, ASIDE, SPLIT = Verdict(Way.LET_IN), Verdict(Way.ASIDE), Verdict(Way.SPLIT)


@dataclass(frozen=True, slots=True)
class Said:
    """A message on its way to the host.

    Attributes:
        author: the person; None for another agent, and for whatever has no author.
        command: the host's command that it is, by its own name; None when it is none.
        is_said: somebody said it on Canon; False for what is ours or the host's own.
    """

    text: str
    author: str | None
    command: str | None = None
    arguments: str = ""
    has_files: bool = False
    is_said: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """The question that the next text in the session answers.

    Attributes:
        responder: who was asked; None: the owner.
        is_answered: it has its answer, and the host has not taken it yet; another text would take its place.
    """

    responder: str | None
    is_answered: bool = False

    def may_answer(self, author: str | None, owner_id: str | None) -> bool:
        """Whether this person's words are the answer."""
        return author is not None and author in (self.responder, owner_id) and not self.is_answered


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A command that the host wants confirmed; ``author`` typed it, None when that is not known."""

    author: str | None


@dataclass(frozen=True, slots=True)
class Open:
    """What a session waits with."""

    question: Question | None = None
    commands: Sequence[Asked] = ()
    confirmation: Confirmation | None = None


def judge(said: Said, waits: Open, *, owner_id: str | None) -> Verdict:
    """Decide about one message."""
    is_owner = said.author is not None and said.author == owner_id
    if said.is_said and not is_owner and is_owners_alone(said.command, said.arguments):
        return Verdict(Way.REFUSE, OWNERS_ALONE)
    is_aside = False
    if waits.question is not None and said.command is None:
        if said.is_said and waits.question.may_answer(said.author, owner_id):
            return SPLIT if said.has_files else PASS
        is_aside = True
    if not said.is_said:
        return ASIDE if is_aside else PASS
    refusal = _refusal(said, waits, is_owner=is_owner, owner_id=owner_id)
    if refusal is not None:
        return Verdict(Way.REFUSE, refusal)
    return ASIDE if is_aside else PASS


def _refusal(said: Said, waits: Open, *, is_owner: bool, owner_id: str | None) -> str | None:
    """Why a message must not decide what the session waits with; None when it decides nothing, or may."""
    if waits.commands:  # while one waits, the host confirms nothing
        others = [one for one in waits.commands if not one.may_allow(said.author, owner_id)]
        if not others or not decides(said.text, said.command):
            return None
        return OWNERS if any(one.owner_only for one in others) else NOT_YOURS
    if waits.confirmation is None or is_owner or (for_good := confirms(said.text)) is None:
        return None
    if said.author is None or said.author != waits.confirmation.author:
        return CONFIRMING
    return FOR_GOOD if for_good else None
