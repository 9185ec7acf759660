"""Writing what ``setup borgee`` found out: the settings, the key and nothing else, all of it or none.

A key that goes to the keyring is put there first and taken out again when the files cannot be written; a key that
leaves ``.env`` leaves the history too.

Source: Borgee 2; decisions C1.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.files.yaml_path import parse_path
from canon_ops.hermes.managed_scope import managed_scope
from canon_ops.keyring.access import KeyringProblem
from canon_ops.operate.borgee_stage import BorgeePlan, BorgeeStage, value_at
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.forget_key import forget_key
from canon_ops.operate.profile_key import new_reference
from canon_ops.operate.writing import Written
from canon_ops.settings.borgee import BUSY_MODE
from canon_ops.settings.borgee_key import BORGEE_KEY, BORGEE_REFERENCE
from canon_ops.settings.profiles import KeyReference

__all__ = ["write_borgee"]


def write_borgee(stage: BorgeeStage, plan: BorgeePlan) -> Written:
    """Block, gateway settings and key, all or none of them; in a dry run only the plan of it.

    Raises:
        PinnedByAdministrator, ManagedHome, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
        KeyringProblem: the keyring did not take the key; nothing was written.
    """
    writing, keyring, home = stage.writing, stage.keyring, stage.writing.home
    settings = _settings(stage, plan)
    if (scope := managed_scope(home)) is not None:
        for path in settings:
            scope.refuse_path(parse_path(path))
    lines = _lines(stage, plan)
    reference = KeyReference.parse(lines.get(BORGEE_REFERENCE) or "")

    def once(files: Transaction) -> Written:
        writing.expect(files, home.config_file, home.env_file)
        if settings:
            document = ConfigDocument.parse(files.read(home.config_file) or b"", str(home.config_file))
            for path, value in settings.items():
                document = document.set(parse_path(path), value)
            files.stage(home.config_file, document.data, private=True)
        if lines:
            env = DotenvDocument.parse(files.read(home.env_file) or b"", str(home.env_file))
            for name, text in lines.items():
                env = env.remove(name) if text is None else env.set(name, text)
            files.stage(home.env_file, env.data, private=True)
        return writing.commit(files)

    def make() -> Transaction:
        return writing.transaction(home.path, refuse=lambda _path: refuse_managed(home))

    if reference is None or writing.dry_run:
        written = edit_files(once, make)
        if lines and not writing.dry_run and stage.key is not None and stage.key.api_key_ref is not None:
            with suppress(KeyringProblem):  # nothing refers to that entry any more
                keyring.delete(stage.key.api_key_ref)
        return written
    before = keyring.find(reference)
    keyring.put(reference, plan.key)
    try:
        written = edit_files(once, make)
    except BaseException:
        with suppress(KeyringProblem):
            keyring.delete(reference) if before is None else keyring.put(reference, before)
        raise
    forgotten = forget_key(writing, home.path, plan.key)
    return replace(written, history_id=None) if written.history_id in forgotten else written


def _settings(stage: BorgeeStage, plan: BorgeePlan) -> dict[str, object]:
    """Every value of config.yaml that has to stand there, by path."""
    options, tree, block = plan.options, stage.config.tree, stage.block_path
    wanted: dict[str, object] = {f"{block}.base_url": options.origin}
    if options.allow_insecure_loopback or value_at(tree, f"{block}.allow_insecure_loopback") is not None:
        wanted[f"{block}.allow_insecure_loopback"] = options.allow_insecure_loopback
    if options.agent_id:
        wanted[f"{block}.agent_id"] = options.agent_id
    if value_at(tree, own_mode := f"{block}.display.busy_input_mode") and stage.extra.get(BUSY_MODE) != "queue":
        wanted[own_mode] = "queue"
    wanted.update({one.path: one.after for one in plan.shared})
    return {path: value for path, value in wanted.items() if value_at(tree, path) != value}


def _lines(stage: BorgeeStage, plan: BorgeePlan) -> dict[str, str | None]:
    """The lines of ``.env``; none when a kept key stays where it is."""
    in_keyring = stage.key is not None and stage.key.api_key_ref is not None
    if plan.is_kept and (plan.store == "keyring") == in_keyring:
        return {}
    if plan.store == "file":
        return {BORGEE_KEY: plan.key.reveal(), BORGEE_REFERENCE: None}
    home = stage.writing.home
    there = stage.key.api_key_ref if stage.key is not None else None
    reference = there or new_reference(f"borgee.{home.profile_name}", home.env_file)
    return {BORGEE_KEY: None, BORGEE_REFERENCE: reference.text}
