"""Are the comments of config.yaml still there? Hermes drops them whenever it saves the file; we know the older text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from canon_ops.doctor.check import About, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import ConfigRepair
from canon_ops.hermes.homes import HermesHome

if TYPE_CHECKING:
    from canon_ops.files.config_editor import ConfigDocument
    from canon_ops.operate.heal_config import Loss

__all__ = ["CHECKS", "HealConfig"]


@dataclass(frozen=True, slots=True)
class HealConfig(ConfigRepair):
    """Bring the comments of an older text back; see :mod:`canon_ops.files.heal`."""

    loss: Loss = field(repr=False)

    def edit_config(self, document: ConfigDocument) -> ConfigDocument:
        from canon_ops.operate.heal_config import healed_document

        return healed_document(self.loss, document)[0]


def _comments_lost(examination: Examination) -> Finding:
    config = examination.config()
    at = Place(str(config.file))
    loss = _loss(examination.home)
    if loss is None:
        return Finding(Status.OK, "No comments of config.yaml are known to be lost.", at=at)
    count = "1 comment" if loss.count == 1 else f"{loss.count} comments"
    data = {"since": loss.since, "count": loss.count}
    if not loss.is_worth_a_warning:
        message = (
            f"{count} of before {'is' if loss.count == 1 else 'are'} not in config.yaml; no warning, since most stayed "
            f"or a snapshot was taken. {examination.command('config heal')} would bring them back."
        )
        return Finding(Status.OK, message, at=at, data=data)
    return Finding(
        Status.WARNING,
        f"Another program dropped {count} from config.yaml; they were there after {loss.command} ({loss.since}).",
        Fix(examination.command("config heal"), HealConfig(loss)),
        at=at,
        data=data,
    )


def _loss(home: HermesHome) -> Loss | None:
    if not (home.path / ".canon-ops").is_dir():  # nothing of ours is remembered; the editors need not be loaded
        return None
    from canon_ops.operate.heal_config import find_loss

    return find_loss(home)


CHECKS = (
    Check(
        "config.comments_lost",
        "Comments",
        "Are the comments of config.yaml still there?",
        _comments_lost,
        about=About(
            "Hermes drops every comment when it saves: by `hermes config set`, by `hermes plugins enable`, "
            "and in a running gateway at the first message of a fresh home.",
            "Nothing works differently; what people wrote down for each other is gone.",
            "Take the comments from what `canon-ops config diff ID` shows, with the id that the finding names. "
            "When they are not wanted any more, `canon-ops config snapshot` ends the warning; "
            "`canon-ops config heal` still finds them.",
            ("config.yaml",),
        ),
    ),
)
