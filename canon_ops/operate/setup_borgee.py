"""``setup borgee``: the dialogue that gives a Hermes home its Borgee agent.

It asks for the server's address and for a key, asks the server whose key that is over the connection that a gateway
would use, gets consent to what changes for every platform, and only then writes: the ``borgee`` block, the settings of
the gateway and the key, in one transaction. A key that goes to the keyring is there before ``.env`` refers to it, so a
crash leaves at most an entry that the next run uses.

It never widens who may start turns: Borgee alone decides whom its agent hears (W27).

Source: command-line contract, section 7; Borgee 2; decisions B3, C1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from canon_ops.errors import ConflictError, CredentialError, OutsideError
from canon_ops.hermes.borgee_block import SHARED_SESSIONS, block_path, shared_sessions_path
from canon_ops.hermes.config_file import HermesConfig
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.keyring.access import Keyring, KeyringEntryMissing
from canon_ops.operate.borgee_answers import (
    BorgeeAgent,
    BorgeeAnswers,
    BorgeeSetupResult,
    OtherAgent,
    SharedChange,
    WhoIs,
)
from canon_ops.operate.borgee_questions import ask_address, ask_keep, ask_shared, settle_pin
from canon_ops.operate.borgee_stage import BorgeePlan, BorgeeStage, Store, value_at
from canon_ops.operate.borgee_writing import write_borgee
from canon_ops.operate.profile_key import key_of_borgee
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.rewinding import Rewinding
from canon_ops.operate.setup_questions import ask_key
from canon_ops.operate.setup_trouble import until_it_works
from canon_ops.operate.writing import Writing, Written
from canon_ops.settings.borgee import BUSY_MODE, BorgeeOptions, read_borgee
from canon_ops.settings.borgee_key import borgee_key
from canon_ops.settings.provenance import Origin
from canon_ops.settings.secret import Secret

__all__ = ["setup_borgee"]


def setup_borgee(
    writing: Writing,
    keyring: Keyring,
    answers: BorgeeAnswers,
    prompts: Prompts,
    *,
    who_is: WhoIs,
    usual_store: Store = "file",
) -> BorgeeSetupResult:
    """Lead the dialogue to its end.

    Args:
        answers: what is answered beforehand; the rest is asked.
        who_is: asks the server whose key it is; also in a dry run, which writes nothing.
        usual_store: where a new key goes when no answer says it.

    Raises:
        ManagedHome, PinnedByAdministrator: the files, or a setting in them, belong to somebody else.
        BorgeeKeyInConfig, BorgeeUnshared: something in config.yaml has to go first.
        OtherAgent: the key is a person's, or another agent's than the one asked for.
        SharedRefused: nobody agreed to what changes for every platform.
        KeyringProblem: the key is to go to the keyring, and it cannot be used.
        UsageError: an answer is wrong or missing.
        CanonOpsError: what ``who_is`` raises, and what editing files raises; nothing was written.
    """
    rewinding = Rewinding(prompts)
    stage = BorgeeStage(writing, keyring, answers, rewinding)
    plan = rewinding.lead(lambda: _answered(stage, who_is, usual_store))
    written = write_borgee(stage, plan)
    return _result(stage, plan, written)


def _answered(stage: BorgeeStage, who_is: WhoIs, usual_store: Store) -> BorgeePlan:
    """The dialogue from its first question; it runs again when a person goes back."""
    prompts, answers, extra = stage.prompts, stage.answers, stage.extra
    known = extra.get("base_url")
    origin, loopback = ask_address(
        prompts,
        answers,
        known=known if isinstance(known, str) else None,
        allowed=str(extra.get("allow_insecure_loopback")).lower() in ("true", "1", "yes", "on"),
    )
    options = read_borgee({**extra, "base_url": origin, "allow_insecure_loopback": loopback, "agent_id": None})
    key, is_kept = _settled_key(stage)

    agent = _introduced(stage, options, key, who_is)
    prompts.note(f"The key belongs to {agent.display_name or 'an agent'} ({agent.agent_id}).")
    pinned = extra.get("agent_id")
    pin = settle_pin(prompts, answers, agent, pinned.strip() if isinstance(pinned, str) else "")
    shared = _shared_changes(stage.config, extra)
    ask_shared(prompts, answers, shared)
    in_keyring = stage.key is not None and stage.key.api_key_ref is not None
    usual = ("keyring" if in_keyring else "file") if is_kept else usual_store
    store: Store = "keyring" if (answers.store or usual) == "keyring" else "file"
    return BorgeePlan(replace(options, agent_id=pin), agent, key, is_kept, store, shared)


def _introduced(stage: BorgeeStage, options: BorgeeOptions, key: Secret, who_is: WhoIs) -> BorgeeAgent:
    """Who the key is; each key is shown to each server once."""

    def ask_it() -> BorgeeAgent:
        with stage.prompts.progress(f"Asking {options.origin} whose key it is"):
            found = who_is(options, key)
        if found.role != "agent":
            raise OtherAgent(
                f"The Borgee key belongs to the {found.role} {found.display_name} ({found.agent_id}), not to an agent",
                fix="create an agent in Borgee, and give its key",
            )
        return found

    asked = (options.origin, key.reveal())
    if asked not in stage.known:
        stage.known[asked] = until_it_works(stage.prompts, ask_it, among=(OutsideError, ConflictError, CredentialError))
    return stage.known[asked]


def _settled_key(stage: BorgeeStage) -> tuple[Secret, bool]:
    """The key to use, and whether it is the one in force."""
    there = stage.key
    if there is not None and ask_keep(stage.prompts, stage.answers, there.setting):
        try:
            return key_of_borgee(there, stage.keyring), True
        except KeyringEntryMissing as missing:
            stage.prompts.note(f"{missing.what}.")
    return ask_key(stage.prompts, stage.answers.api_key, what="Borgee agent key"), False


def _shared_changes(config: HermesConfig, extra: Mapping[str, object]) -> tuple[SharedChange, ...]:
    """The settings of the whole gateway that Borgee needs otherwise. Source: Borgee 2.1, 2.5."""
    changes = []
    if extra[SHARED_SESSIONS] is not False:
        path = shared_sessions_path(config)
        changes.append(SharedChange(path, value_at(config.tree, path), False))
    own_mode = value_at(config.tree, f"{block_path(config)}.display.busy_input_mode")
    if extra[BUSY_MODE] != "queue" and not own_mode:
        path = "display.busy_input_mode"
        changes.append(SharedChange(path, value_at(config.tree, path), "queue"))
    return tuple(changes)


def _result(stage: BorgeeStage, plan: BorgeePlan, written: Written) -> BorgeeSetupResult:
    names, config = PLATFORMS["borgee"], stage.config
    enabled = names.plugin in (config.enabled_plugins or ()) and names.plugin not in config.disabled_plugins
    answers = BorgeeAnswers(
        base_url=plan.options.origin,
        allow_insecure_loopback=plan.options.allow_insecure_loopback or None,
        agent_id=plan.options.agent_id or None,
        store=plan.store,
        change_shared=True if plan.shared else None,
    )
    return BorgeeSetupResult(
        options=plan.options,
        agent=plan.agent,
        shared=plan.shared,
        store=plan.store,
        files=written.files,
        changed=written.changed or (plan.store == "keyring" and not plan.is_kept),
        diff=written.diff,
        history_id=written.history_id,
        overridden_by=None if stage.writing.dry_run else _overriding(stage, plan),
        answers=answers,
        is_installed=enabled and config.platform_switch(names.name) is True,
        dry_run=stage.writing.dry_run,
    )


def _overriding(stage: BorgeeStage, plan: BorgeePlan) -> Origin | None:
    """The place whose key still counts before the one that was set up; None when the right one is in force."""
    found = borgee_key(surroundings_from_disk(stage.writing.home.path, stage.writing.environ))
    if plan.store == "keyring":
        return found.setting.origin if found.api_key is not None else None
    return found.setting.origin if found.api_key != plan.key else None
