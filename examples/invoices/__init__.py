"""A domain plugin: the agent may file an invoice after the human of its Canon turn has said yes.

The two tools never see a conversation or a person: Canon's functions take both from the turn that is running. The agent
is woken with the decision and then calls ``settle_invoices``; calling it twice files nothing twice (see ledger.py).
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from canon_hermes_plugin import check_detached_approval, current_canon_turn, request_detached_approval_for_current_human

from .ledger import Invoice, Ledger

TEXT = {"type": "string"}


def register(ctx: Any) -> None:
    """Register both tools with the host."""
    ctx.register_tool(
        name="file_invoice",
        toolset="invoices",
        schema={
            "name": "file_invoice",
            "description": "File an invoice once a human has allowed it. Returns at once; you are woken later.",
            "parameters": {
                "type": "object",
                "required": ["number", "supplier", "amount"],
                "properties": {"number": TEXT, "supplier": TEXT, "amount": TEXT},
            },
        },
        handler=file_invoice,
        is_async=True,
        description="File an invoice once a human has allowed it.",
    )
    ctx.register_tool(
        name="settle_invoices",
        toolset="invoices",
        schema={
            "name": "settle_invoices",
            "description": "File every invoice that has been allowed by now. Call it when you are woken.",
            "parameters": {"type": "object", "properties": {}},
        },
        handler=settle_invoices,
        is_async=True,
        description="File every invoice that has been allowed by now.",
    )


async def file_invoice(args: dict[str, Any], **_ignored: Any) -> str:
    """Ask the human of the turn; a second request for the same invoice asks nobody again, unless the first came to
    nothing: nobody answered in time, or nobody knows whether they did. What is asked last is what may be filed."""
    ledger = _ledger()
    wanted = Invoice(str(args["number"]), str(args["supplier"]), str(args["amount"]))
    known = ledger.find(wanted.key)
    if known is not None and not await _came_to_nothing(known):
        return json.dumps({"invoice": known.key, "amount": known.amount, "state": known.state})
    turn = current_canon_turn(require_human=True)
    asked = await request_detached_approval_for_current_human(
        title="File invoice",
        question=f"File invoice {wanted.number} of {wanted.supplier} for {wanted.amount}?",
        context={"Asked by": turn.user_name or str(turn.user_id)},
    )
    ledger.keep(replace(wanted, approval_id=asked["approvalId"]))
    return json.dumps({"invoice": wanted.key, "state": "waiting", "approvalId": asked["approvalId"]})


async def _came_to_nothing(invoice: Invoice) -> bool:
    if invoice.state != "waiting":
        return False
    try:
        answer = await check_detached_approval(invoice.approval_id or "")
    except PermissionError:
        return False  # it was asked for in another conversation, and is settled there
    return answer["status"] in ("expired", "unknown")


async def settle_invoices(_args: dict[str, Any], **_ignored: Any) -> str:
    """Look at each invoice that waits; only an ``allow`` files, only a ``deny`` refuses, all else waits or is asked."""
    ledger, done = _ledger(), []
    for invoice in ledger.waiting():
        try:
            answer = await check_detached_approval(invoice.approval_id or "")
        except PermissionError:
            continue  # it was asked for in another conversation, and is settled there
        if answer["status"] == "resolved" and answer["decision"] == "allow":
            receipt = ledger.file(invoice)
            ledger.keep(replace(invoice, state="filed"))
            done.append({"invoice": invoice.key, "state": "filed", "receipt": receipt})
        elif answer["status"] == "resolved":
            ledger.keep(replace(invoice, state="refused"))
            done.append({"invoice": invoice.key, "state": "refused"})
        else:
            done.append({"invoice": invoice.key, "state": answer["status"]})
    return json.dumps({"settled": done})


def _ledger() -> Ledger:
    home = os.environ.get("HERMES_HOME") or str(Path.home() / ".hermes")
    return Ledger(Path(home) / "invoices")
