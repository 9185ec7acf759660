"""What lives from a connect to its disconnect: one value, put together in one place.

The parts ask things of each other in circles, so each gets functions, and whoever is made later is named in a closure.
Nothing here waits, and nothing starts by itself but the lanes into which the leftovers of an earlier gateway go; the
runtime (:mod:`~canon_hermes_plugin.runtime`) starts the loops and ends everything, in its order.

Source: Canon adapter R2.4.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from canon_hermes_plugin import host as host_door
from canon_hermes_plugin.acting import Acting
from canon_hermes_plugin.approvals.gateway import GatewayApprovals, open_approvals
from canon_hermes_plugin.approvals.waking import Waking
from canon_hermes_plugin.connection.connecting import Session
from canon_hermes_plugin.connection.describing import Describing
from canon_hermes_plugin.connection.pulse import Pulse
from canon_hermes_plugin.connection.supervisor import StreamSupervisor
from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.inbound.acknowledging import Acknowledgements
from canon_hermes_plugin.inbound.handing import Handing
from canon_hermes_plugin.inbound.inflow import Inflow
from canon_hermes_plugin.inbound.signals import Signals
from canon_hermes_plugin.interactions.asking import Asking
from canon_hermes_plugin.interactions.cards import CardDesk
from canon_hermes_plugin.interactions.clarify import HumanWaits
from canon_hermes_plugin.interactions.people import People
from canon_hermes_plugin.loops import Loops
from canon_hermes_plugin.media.captures import Captures
from canon_hermes_plugin.media.download import Downloads, resolve
from canon_hermes_plugin.media.intake import Intake
from canon_hermes_plugin.media.outgoing import Outgoing, read_file
from canon_hermes_plugin.media.policy import scope_of
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.outbound.deliveries import Deliveries
from canon_hermes_plugin.outbound.effects import Outbound
from canon_hermes_plugin.outbound.legacy import Legacy
from canon_hermes_plugin.outbound.postbox import Postbox
from canon_hermes_plugin.outbound.surfaces import NotedSurfaces
from canon_hermes_plugin.outbound.typing_dots import TypingDots
from canon_hermes_plugin.outbound.unasked import send_unasked
from canon_hermes_plugin.ports import HostPort
from canon_hermes_plugin.runs import Runs
from canon_hermes_plugin.state.kept import Kept
from canon_hermes_plugin.tools.session import read_session
from canon_hermes_plugin.turn.events import Kind
from canon_ops.client.stream import open_stream
from canon_ops.runtime.clock import Clock
from canon_ops.settings.options import Options, UserAccess
from canon_ops.wire.ids import TurnId
from canon_ops.wire.retry import Policy
from canon_ops.wire.sse import Frame

__all__ = ["Connected", "Ground", "assemble"]


@dataclass(frozen=True, slots=True)
class Ground:
    """What an adapter has before it connects.

    Attributes:
        approvals_file: the registry of approvals, which other gateways may share.
        approvals_record: where this home keeps the end of that registry's audit trail.
        home_channel: the conversation that hears of messages that may have been missed.
        waits: how long the host's questions wait for people.
    """

    port: HostPort
    desk: TurnDesk
    pulse: Pulse
    loops: Loops
    offload: Offload
    approvals_offload: Offload
    options: Options
    access: UserAccess
    approvals_file: Path
    approvals_record: Path
    home_channel: str | None
    waits: HumanWaits
    clock: Clock
    rng: random.Random


@dataclass(frozen=True, slots=True)
class Connected:
    """One connection. Whoever holds it closes ``intake``, ``file_threads``, ``session.api``, and last ``kept.file``.

    Attributes:
        file_threads: for name servers and files, beside the adapter's own: either may take its time.
    """

    loop: asyncio.AbstractEventLoop
    session: Session
    kept: Kept
    inflow: Inflow
    supervisor: StreamSupervisor
    outbound: Outbound
    deliveries: Deliveries
    postbox: Postbox
    runs: Runs
    signals: Signals
    approvals: GatewayApprovals
    acting: Acting
    people: People
    dots: TypingDots
    describing: Describing
    intake: Intake
    file_threads: Offload
    outgoing: Outgoing
    acknowledgements: Acknowledgements


def assemble(ground: Ground, session: Session, kept: Kept) -> Connected:
    """Put a connection together, and take over what the last gateway left; called on the loop that it lives on."""
    desk, port, clock, rng = ground.desk, ground.port, ground.clock, ground.rng
    deliveries = Deliveries(
        session.api.send_message,
        send_unasked=partial(send_unasked, session.api),
        rows=kept.outbox,
        report=desk.apply,
        is_left_to_host=lambda turn_id: _is_left_to_host(desk, turn_id),
        clock=clock,
        rng=rng,
    )
    outbound = Outbound(
        NotedSurfaces(session.api, kept.inbox),
        clock,
        report=desk.apply,
        deliver=deliveries.take,
        closed=lambda effect: runs.closed(effect),
        typing=port,
        queue_depth=lambda turn_id: queue_depth(desk, port, turn_id),
        can_steer=port.can_steer,
    )
    postbox = Postbox(outbound, deliveries, kept, ground.home_channel)

    async def take(frame: Frame) -> None:
        ground.pulse.heard()
        await inflow.take(frame)

    supervisor = StreamSupervisor(
        partial(open_stream, session.credential.connection, session.credential.api_key, clock=clock),
        take,
        lambda: inflow.resume_from(),
        clock=clock,
        rng=rng,
        watcher=ground.pulse,
    )
    signals = Signals(
        session.api.consume_signal,
        desk,
        hand_over=port.hand_over,
        waiting_in=port.waiting_in,
        session_of=port.session_of,
        drop_queue=port.drop_queue,
        drop_arriving=lambda conversation_id: inflow.drop_arriving(conversation_id),
        is_group=lambda conversation_id: inflow.rooms.is_group(conversation_id),
        agent_id=session.agent.agent_id,
        clock=clock,
    )
    file_threads = Offload("canon-files", threads=4)
    downloads = Downloads(
        addresses_of=lambda host, number: file_threads.run(resolve, host, number),
        allows_private=lambda: file_threads.run(port.allows_private_urls),
        clock=clock,
    )
    outgoing = Outgoing(
        partial(session.api.upload_media, policy=Policy.IDEMPOTENT),
        fetch=downloads.fetch,
        read=lambda path: file_threads.run(read_file, path),
    )
    intake = Intake(
        scope_of(ground.options),
        Captures(clock.monotonic_s),
        fetch=downloads.fetch,
        keep=lambda kind, data, name: file_threads.run(port.keep_file, kind, data, name),
        session_of=port.session_of,
        holds=port.holds,
        clock=clock,
    )
    handing = Handing(
        identity=session.agent,
        conversations=session.conversations,
        access=ground.access,
        neutralise=port.inert_name,
        fetch_rooms=session.api.conversations,
        give=port.hand_over,
        amend=port.amend_waiting,
        inbox=kept.inbox,
        remains=kept.remains,
        session_of=port.session_of,
        files=intake,
        holds=port.holds,
        is_busy=port.is_busy,
        stop_now=port.stop_now,
        command_of=port.command_of,
        is_stopping=port.is_stopping,
        clock=clock,
        rng=rng,
    )
    inflow = Inflow(
        handing,
        control=signals.consume,
        replay=supervisor.replay,
        inbox=kept.inbox,
        remains=kept.remains,
        missed=lambda: ground.loops.own(postbox.tell_gaps()),
        given_up=postbox.tell_given_up,
        answered=lambda approval_id: approvals.heard(approval_id),
        unheard=lambda: approvals.ask_again(),
        permitted=port.tools_changed,
    )
    approvals = open_approvals(
        ground.approvals_file,
        ground.approvals_record,
        session.api,
        kept.owner,
        Waking(inflow.own, port.session_of),
        run=ground.approvals_offload.run,
        conversations=lambda: inflow.rooms.rooms,
        clock=clock,
    )
    cards = CardDesk(kept.file, kept.owner, session.api, clock)
    asking = Asking(session.api, kept.file, kept.owner, clock)
    people = People(
        asking,
        desk,
        port,
        owner_id=lambda: inflow.identity.owner_id,
        trusted_user=lambda: read_session(host_door.session_value).user_id,
        waits=ground.waits,
        offloaded=ground.offload.run,
        clock=clock,
    )
    asking.clear_up(kept.left_open)
    runs = Runs(desk, port, kept, inflow, intake)
    legacy = Legacy(
        session.api, outbound, deliveries, kept.inbox, has_open_turn=desk.has_open_turn, clock=clock, rng=rng
    )
    legacy.take_over(kept.remains.turns, kept.remains.items, kept.owed)
    inflow.recover(kept.remains.items, kept.adoption)
    return Connected(
        loop=asyncio.get_running_loop(),
        session=session,
        kept=kept,
        inflow=inflow,
        supervisor=supervisor,
        outbound=outbound,
        deliveries=deliveries,
        postbox=postbox,
        runs=runs,
        signals=signals,
        approvals=approvals,
        acting=Acting(session.api, approvals.service, cards, asking, desk, ground.home_channel, clock),
        people=people,
        dots=TypingDots(session.api.set_typing),
        describing=Describing(session.api.publish_status, port.descriptor, offloaded=ground.offload.run, clock=clock),
        intake=intake,
        file_threads=file_threads,
        outgoing=outgoing,
        acknowledgements=Acknowledgements(session.api, ground.loops.own, clock),
    )


def queue_depth(desk: TurnDesk, port: HostPort, turn_id: TurnId) -> int:
    """How many messages wait behind a turn."""
    turn = desk.turns.live.get(turn_id)
    session = turn.opening.session if turn is not None else None
    return port.queue_depth(session) if session is not None else 0


def _is_left_to_host(desk: TurnDesk, turn_id: TurnId) -> bool:
    """Whether the host repeats a message of this turn itself."""
    turn = desk.turns.live.get(turn_id)
    return turn is not None and turn.opening.kind is Kind.LOOSE
