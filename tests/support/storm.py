"""A fault storm: which faults of the sandbox strike when, what each may cost, and the people who talk meanwhile.

Every kind of fault has one place, and a test holds the table against the sandbox's own:

* ``WEATHER``: trouble that costs nobody anything, armed for the whole storm;
* ``MARKED``: faults that do cost an answer, so they strike only messages that say so;
* ``LULLS``: trouble that is sent between two spells, while nobody waits for anything;
* ``ENDINGS``: what takes a platform down for good, each with a gateway that is started again;
* ``CONNECTING`` and ``VERBS``: met by an adapter that connects, and by messages from outside of a gateway;
* ``ELSEWHERE``: not in the storm, with the test in which our client or plugin meets it.

Source: Canon wire 11.8, 11.9; decisions T7.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from canon_ops.sandbox.server import CanonSandbox
from tests.support.asking import question_of, template_of
from tests.support.files import PNG

__all__ = [
    "CONNECTING",
    "ELSEWHERE",
    "ENDINGS",
    "LULLS",
    "MARKED",
    "PEOPLE",
    "VERBS",
    "WEATHER",
    "Talk",
    "talk_for",
]

WEATHER: Final[Mapping[str, tuple[dict[str, Any], ...]]] = {
    # a durable message meets at most two of these; the third of its quick attempts wins, or a later one does
    "send-429": ({"every": 19, "burst": 2},),
    "send-503": ({"every": 10, "burst": 2},),
    "send-500": ({"every": 14},),
    "send-500-after-commit": ({"every": 6},),
    "send-lost-response": ({"every": 8},),
    "send-not-json": ({"every": 23},),
    # live surfaces: what is lost is repaired by the next write
    "typing-500": ({"every": 5},),
    "streaming-500": ({"every": 7},),
    "turn-500": ({"every": 9},),
    "signal-500": ({"every": 2},),
    "runtime-status-500": ({"every": 2},),
    "answer": ({"path": "/runtime/turn", "every": 31, "status": 502},),
    "answer-after-commit": ({"path": "/streaming", "every": 37},),
    "lost-response": ({"path": "/runtime/turn", "every": 41},),
    "reset": ({"path": "/streaming", "every": 29},),
    "delay": (
        {"path": "/streaming", "every": 11, "seconds": 0.2},
        {"path": "/messages/send", "every": 13, "seconds": 0.5},
    ),
    # the stream
    "stream-503": ({"every": 3},),
    "stream-end-at-once": ({"every": 5, "skip": 1},),
    "stream-drop": ({"every": 31},),
    "stream-drop-mid-frame": ({"every": 37, "skip": 5},),
    "stream-drop-after": ({"every": 43, "skip": 8},),
    "stream-end": ({"every": 41, "skip": 3},),
    "event-duplicate": ({"every": 5},),
    "event-duplicate-new-id": ({"every": 7},),
    "event-swap": ({"every": 17, "skip": 2},),
    "event-no-id": ({"every": 29, "skip": 4},),
    "event-no-name": ({"every": 19, "skip": 6},),
    "event-crlf-split": ({"every": 11, "skip": 1},),
    "event-bytewise": ({"every": 13, "skip": 2},),
    "event-multi-line": ({"every": 16, "skip": 3},),
    "event-not-json": ({"every": 22, "skip": 7},),
    "event-unknown-name": ({"every": 15, "skip": 5},),
    "event-no-verdict": ({"every": 12, "skip": 9},),
    "event-run-turn": ({"every": 14, "skip": 11},),
}  # fmt: skip

PEOPLE: Final[Mapping[str, dict[str, Any]]] = {
    # over agents that wait for people and over files, where those take part; each of these is met elsewhere too
    "interaction-500-after-commit": {"every": 5},
    "interaction-lost-response": {"every": 7, "skip": 2},
    "consume-500": {"every": 6},
    "consume-503": {"every": 8},
    "read-500": {"every": 3},
    "media-404": {"every": 6},
}
SCENES: Final = (
    template_of(question_of("Which?", "a", "b", said="<answer>")),
    '[tool terminal {{"command": "rm -rf /tmp/canon-storm-nothing"}}][say {answer}]',
    "[slow 1][say {answer}]",
)
"""An agent that asks, one that waits for leave, and one that was sent a picture."""

TAG: Final = "message.metadata.storm"
MARKED: Final[Mapping[str, dict[str, Any]]] = {
    # refused for good: nothing is posted, and the outbox shows it
    "send-400": {"text": "refused by 400"},
    "send-409": {"text": "refused by 409"},
    "send-redirect": {"text": "refused by redirect"},
    # by verdict: no turn
    "event-record-only": {TAG: "record-only"},
    "event-other-verdict": {TAG: "other-verdict"},
}
NO_ANSWER: Final = ("refused by 400", "refused by 409", "refused by redirect")
NO_TURN: Final = ("record-only", "other-verdict")

LULLS: Final = ("stream-forget", "stream-forget-all", "stream-silent", "send-slow-after-commit", "rate-limits")
"""Deaf for a minute, a cursor that nobody knows, a minute without an answer: sent while nothing else is going on."""

ENDINGS: Final = ("stream-401", "stream-403")

CONNECTING: Final[Mapping[str, tuple[str, bool] | None]] = {
    # code and whether it may pass by itself; None connects all the same
    "me-401": ("auth_failed", False),
    "me-403": ("auth_failed", False),
    "me-429": ("connect_failed", True),
    "me-503": ("connect_failed", True),
    "conversations-503": ("connect_failed", True),
    "health-slow": ("connect_failed", True),
    "health-wrong-header": ("environment_mismatch", False),
    "health-wrong-environment": ("environment_mismatch", False),
    "health-wrong-project": ("environment_mismatch", False),
    "health-no-header": ("environment_mismatch", False),
    "health-not-json": ("environment_mismatch", False),
    "health-degraded": None,
}

VERBS: Final[Mapping[str, bool]] = {
    # whether the message arrives all the same
    "verb-approval-required": False,
    "verb-closed": False,
    "verb-wrong-wire": False,
    "verb-wrong-verb": False,
    "verb-no-result": False,
    "verb-sealed": False,
    "verb-missing-keys": False,
    "verb-unknown-status": False,
    "verb-500-after-commit": True,
}

_REGISTERING: Final = "tests/unit/operate/test_register.py"
_APPROVALS: Final = "tests/contract/test_approvals_trouble.py"
_QUESTIONS: Final = "tests/contract/test_questions_trouble.py"
_FILES: Final = "tests/acceptance/test_gateway_media.py"
ELSEWHERE: Final[Mapping[str, str]] = {
    # met by setup, by our own client, or by the agent's tools: the test that lets it be met
    **dict.fromkeys(
        ("registration-poll-500", "registration-ack-500", "registration-ack-lost", "registration-other-agent"),
        _REGISTERING,
    ),
    **dict.fromkeys(
        (
            "approval-cap-reject", "approval-cap-clamp", "interaction-no-responder", "interaction-other-responder",
            "interaction-500", "interaction-500-after-commit", "interaction-lost", "interaction-lost-response",
            "consume-wrong-responder", "consume-no-responder", "consume-404", "consume-409", "consume-500",
            "consume-503", "consume-lost-response",
        ),
        _APPROVALS,
    ),
    "discover-no-owner": _QUESTIONS,
    "stream-no-policy": "tests/unit/canon_hermes_plugin/communicate/test_tool.py",
    "read-500": "tests/contract/test_marks_trouble.py",
    "disposition-500": "tests/contract/test_marks_trouble.py",
    "upload-413": "tests/contract/test_client_acts.py",
    "media-404": _FILES,
    "media-oversize": _FILES,
    "media-redirect": "tests/unit/canon_hermes_plugin/media/test_download.py",
}  # fmt: skip


@dataclass(slots=True)
class Talk:
    """What was said, and what has to come back.

    Attributes:
        answers: message → the text of its one answer.
        unanswered: messages that get none, with the reason.
    """

    answers: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        return len(self.answers) + len(self.unanswered)


def talk_for(
    box: CanonSandbox, rooms: list[str], seconds: float, talk: Talk, *, seed: int, with_people: bool = False
) -> None:
    """Let a person in each room ask, wait for the answer and ask again, until the time is over.

    Args:
        with_people: a third of what is said makes the agent ask a person, or brings a picture.
    """
    deadline = time.monotonic() + seconds
    with ThreadPoolExecutor(len(rooms)) as people:
        for future in [people.submit(_converse, box, room, deadline, talk, seed, with_people) for room in rooms]:
            future.result()


def _converse(box: CanonSandbox, room: str, deadline: float, talk: Talk, seed: int, with_people: bool) -> None:
    rng = random.Random(f"{seed} {room}")
    while time.monotonic() < deadline:
        with talk.lock:
            number = len(talk)
        text = f"answer {number} in {room}"
        tag: str | None = None
        files: list[dict[str, Any]] = []
        match rng.randrange(18 if with_people else 12):
            case 0:
                script, text = "[long 700]", " ".join(f"word{index}" for index in range(1, 701))
            case 1:
                script = f'[tool terminal {{"command": "true"}}][say {text}]'
            case 2 | 3:
                script = f"[slow 1][say {text}]"
            case 4:
                text = rng.choice(NO_ANSWER)
                script = f"[say {text}]"
            case 5:
                tag = rng.choice(NO_TURN)
                script = f"just so that you know, number {number}"  # background of the next message: no directives
            case scene if scene >= 12:
                script = SCENES[scene % len(SCENES)].format(answer=text)
                if scene % len(SCENES) == 2:
                    files = [box.human.upload(PNG, mime_type="image/png", file_name="a.png", conversation_id=room)]
            case _:
                script = f"[say {text}]"
        message = box.human.say(room, script, metadata={"storm": tag} if tag else None, attachments=files)
        with talk.lock:
            if tag is not None:
                talk.unanswered[message] = tag
            elif text in NO_ANSWER:
                talk.unanswered[message] = text
            else:
                talk.answers[message] = text
        if tag is None:
            _wait_for_its_end(box, room, message, is_refused=text in NO_ANSWER)


def _wait_for_its_end(box: CanonSandbox, room: str, message: str, *, is_refused: bool) -> None:
    """Until the answer is there, or its turn has ended without one."""
    if not is_refused:
        box.wait("answer", to=message, timeout_s=150)
        return

    box.wait(lambda _: _refusal_of(box, room, message), timeout_s=150)


def _refusal_of(box: CanonSandbox, room: str, message: str) -> bool:
    """Whether the answer to a message was refused for good."""
    return any(
        entry.status in (302, 400, 409)
        and isinstance(entry.body, dict)
        and (entry.body.get("replyAuthority") or {}).get("sourceMessageId") == message
        for entry in reversed(list(box.engine.journal))
        if entry.path == "/messages/send"
    )
