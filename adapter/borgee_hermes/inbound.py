"""From an event of the wire to a receipt: what starts a turn, what it says to Hermes, and which lane it may take.

Pure but for the questions about commands, which are the host's to answer at that moment; when one of them raises, the
receipt is not made, and nothing is stored or acknowledged.

Source: Borgee 5.2-5.5.
"""

from __future__ import annotations

from borgee_hermes.bpp.events import ConversationContext, InboundEvent, Kind
from borgee_hermes.inbox.identity import MOST, dedupe_key, payload_hash, storable
from borgee_hermes.inbox.records import DispatchClass, NewReceipt, Outcome, Receipt, Status
from borgee_hermes.ports import Commands

__all__ = ["classify", "command_word", "is_command", "may_bypass", "receipt_of"]

_NO_TURN = {
    Kind.EDITED: Outcome.IGNORED_EDITED,
    Kind.DELETED: Outcome.IGNORED_DELETED,
    Kind.REACTION: Outcome.IGNORED_REACTION,
}


def receipt_of(event: InboundEvent, *, agent_id: str, session_key: str, commands: Commands) -> NewReceipt:
    """What is stored of an event.

    Args:
        agent_id: whose own messages start no turn.
        session_key: of the event's channel.

    Raises:
        Exception: whatever the host raised when it was asked about a command.
    """
    author_id = event.reaction.user_id if event.reaction is not None else event.author_id
    body = "" if event.kind in (Kind.DELETED, Kind.REACTION) else event.body
    digest = payload_hash(
        event.kind, event.channel_id, event.message_id, author_id, body, event.created_at_ms, event.reaction
    )
    outcome = _NO_TURN.get(event.kind)
    if outcome is None and agent_id and author_id == agent_id:
        outcome = Outcome.IGNORED_SELF_AUTHORED
    text, forced, kind = body, False, DispatchClass.ORDINARY
    if outcome is None:
        text, forced = _effective(body, commands)
        kind = DispatchClass.ORDINARY if forced else classify(text, session_key, commands)
    return NewReceipt(
        kind=event.kind,
        channel_id=storable(event.channel_id),
        channel_type=storable(event.channel_type) or "channel",
        message_id=storable(event.message_id),
        author_id=storable(author_id) if event.kind is not Kind.DELETED else "",
        author_name=storable(event.author_name),
        session_key=storable(session_key),
        source_body=storable(body),
        effective_body=storable(text),
        source_created_at=min(event.created_at_ms, MOST),
        payload_hash=digest,
        dedupe_key=storable(dedupe_key(event.kind, event.channel_id, event.message_id, digest)),
        dispatch_class=kind,
        forced_queue=forced,
        status=Status.PENDING if outcome is None else Status.COMPLETED,
        outcome=outcome,
        context=_context(event.context),
    )


def classify(text: str, session_key: str, commands: Commands) -> DispatchClass:
    """Which lane a text may take. A command is one for Hermes or for one of its plugins; a path is none."""
    word = command_word(text)
    if word:
        known = commands.resolve(word)
        if known is not None:
            return DispatchClass.URGENT_STOP if known == "stop" else DispatchClass.CONTROL
        return DispatchClass.CONTROL if commands.is_plugin_command(word) else DispatchClass.ORDINARY
    if not text.startswith("/") and commands.is_question_open(session_key):
        return DispatchClass.CONTROL
    return DispatchClass.ORDINARY


def may_bypass(receipt: Receipt, commands: Commands) -> bool:
    """Whether the host would let a receipt pass the turn that runs in its session, asked again right before.

    A plugin lookup that fails counts as no: the receipt waits for its place.
    """
    if receipt.forced_queue:
        return False
    word = command_word(receipt.effective_body)
    if not word:
        return not receipt.effective_body.startswith("/") and commands.is_question_open(receipt.session_key)
    return commands.bypasses(word) or _is_plugin_command(word, commands)


def is_command(receipt: Receipt, commands: Commands) -> bool:
    """Whether a receipt is a command, which starts no ordinary turn also when its session is idle."""
    word = command_word(receipt.effective_body)
    return bool(word) and (commands.resolve(word) is not None or _is_plugin_command(word, commands))


def runs_inline_by_us(receipt: Receipt, commands: Commands) -> bool:
    """Whether a bypassing receipt is a plugin's command, which Hermes itself would put behind the running turn."""
    word = command_word(receipt.effective_body)
    return bool(word) and not commands.bypasses(word) and _is_plugin_command(word, commands)


def command_word(text: str) -> str:
    """``stop`` of ``/Stop@helper now``; empty when the text is no command."""
    if not text.startswith("/"):
        return ""
    word = text[1:].split(maxsplit=1)[0] if text[1:2].strip() else ""
    name = word.partition("@")[0].lower()
    return "" if "/" in name else name


def _effective(body: str, commands: Commands) -> tuple[str, bool]:
    """What Hermes gets of a text, and whether the person asked that it waits.

    Blanks before a command are left out: some hosts would not see one behind them.
    """
    text = body.strip()
    word = command_word(text)
    if not word:
        return body, False
    known = commands.resolve(word)
    if known is None:
        return body, False
    rest = text.split(maxsplit=1)[1:]
    if known == "queue" and rest:
        return rest[0].strip(), True
    return body.lstrip(), False


def _is_plugin_command(word: str, commands: Commands) -> bool:
    try:
        return commands.is_plugin_command(word)
    except Exception:  # the host's code and its plugins'
        return False


def _context(context: ConversationContext | None) -> ConversationContext | None:
    if context is None:
        return None
    return ConversationContext(
        storable(context.guild_id),
        storable(context.top_level_channel_id),
        context.thread_id and storable(context.thread_id),
        context.task_id and storable(context.task_id),
    )
