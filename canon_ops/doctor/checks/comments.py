"""Are the comments of config.yaml still there? Hermes drops them whenever it saves the file; we know the older text."""

from __future__ import annotations

from canon_ops.doctor.check import Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import HealConfig
from canon_ops.operate.heal_config import find_loss

__all__ = ["CHECKS"]


def _comments_lost(examination: Examination) -> Finding:
    config = examination.config()
    at = Place(str(config.file))
    loss = find_loss(examination.home)
    if loss is None:
        return Finding(Status.OK, "No comments of config.yaml are known to be lost.", at=at)
    count = "1 comment" if loss.count == 1 else f"{loss.count} comments"
    return Finding(
        Status.WARNING,
        f"Another program dropped {count} from config.yaml; they were there after {loss.command}.",
        Fix(examination.command("config heal"), HealConfig()),
        at=at,
        data={"since": loss.since, "count": loss.count},
    )


CHECKS = (Check("config.comments_lost", "Comments", "Are the comments of config.yaml still there?", _comments_lost),)
