"""The commands by name, in the order of the help page: a table of text, so that help imports no command.

A leaf's ``target`` is ``module:attribute`` below ``canon_ops.cli.commands``; the module is imported when the command
runs or when its own help is asked for. A test walks this table, loads every target and compares the sentences.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ROOT", "Entry", "first_steps", "leaves"]


def first_steps(platform: str = "canon") -> tuple[str, ...]:
    """Whole command lines for somebody who has never used the program."""
    return (
        f"canon-ops install {platform} --dry-run --diff",
        f"canon-ops install {platform} --setup",
        "canon-ops doctor",
        "canon-ops demo",
    )


class Entry(NamedTuple):
    """One name of the command tree.

    Attributes:
        help: one sentence, shown in the list of the parent.
        target: ``module:attribute`` of a leaf; empty for a group.
        section: heading of the parent's list under which it stands.
        children: the members of a group.
        default: the member that a group means when none is named.
    """

    name: str
    help: str
    target: str = ""
    section: str = "Commands"
    children: tuple[Entry, ...] = ()
    default: str = ""


ROOT = Entry(
    "canon-ops",
    "Install, set up, diagnose and repair the Canon and Borgee platforms of a Hermes Agent host.",
    children=(
        Entry(
            "install",
            "Make the Hermes host run a platform: package there, plugin enabled, platform enabled, access decided.",
            "install:command",
            section="Set up",
        ),
        Entry(
            "setup",
            "Give a Hermes profile its agent on a platform.",
            section="Set up",
            default="canon",
            children=(
                Entry(
                    "canon",
                    "Give the Hermes profile its Canon agent: register, reconnect, use a profile, or paste a key.",
                    "setup:canon_command",
                ),
                Entry(
                    "borgee",
                    "Give the Hermes profile its Borgee agent: the server's address and the agent's key.",
                    "setup_borgee:borgee_command",
                ),
            ),
        ),
        Entry(
            "upgrade",
            "Put a newer version of this package into the interpreter that runs Hermes.",
            "upgrade:command",
            section="Set up",
        ),
        Entry(
            "rollback",
            "Go back before the newest install or upgrade: its package and its configuration.",
            "rollback:command",
            section="Set up",
        ),
        Entry(
            "uninstall",
            "Take an installation back: what was written leaves the files, what was brought leaves the host.",
            "uninstall:command",
            section="Set up",
        ),
        Entry(
            "host",
            "Look at the Hermes host, and at what the platforms rely on in it.",
            section="Look",
            children=(
                Entry(
                    "show",
                    "Show the Hermes that commands act on, and what a platform misses in it.",
                    "host:show_command",
                ),
                Entry("list", "List every Hermes that can be found here, and the audited ones.", "host:list_command"),
            ),
        ),
        Entry(
            "config",
            "Read and edit the Hermes configuration, keeping every other byte.",
            section="Change",
            children=(
                Entry("get", "Print one value of the Hermes configuration.", "config:get_command"),
                Entry("set", "Set one value of the Hermes configuration.", "config:set_command"),
                Entry("unset", "Remove one key from the Hermes configuration.", "config:unset_command"),
                Entry("add", "Append an item to a list of the Hermes configuration, once.", "config:add_command"),
                Entry("remove", "Remove an item from a list of the Hermes configuration.", "config:remove_command"),
                Entry(
                    "list",
                    "List the keys that matter to the platforms, and where each value comes from.",
                    "config_look:list_command",
                ),
                Entry("path", "Print where the Hermes configuration is.", "config_look:path_command"),
                Entry(
                    "validate",
                    "Check the Hermes configuration: readable, right types, no key that is dropped.",
                    "config_look:validate_command",
                ),
                Entry(
                    "diff",
                    "Show what changed in the Hermes configuration since this tool last wrote it.",
                    "config_look:diff_command",
                ),
                Entry(
                    "edit",
                    "Edit the Hermes configuration in your editor; nothing that Hermes cannot read is saved.",
                    "config_whole:edit_command",
                ),
                Entry(
                    "recommend",
                    "Propose the documented settings of a platform, as one change.",
                    "config_whole:recommend_command",
                ),
                Entry(
                    "snapshot",
                    "Keep the present text of the Hermes configuration in the history.",
                    "config_whole:snapshot_command",
                ),
                Entry("heal", "Bring back the comments that another program dropped.", "config_whole:heal_command"),
            ),
        ),
        Entry(
            "env",
            "Read and edit the variables of a Hermes profile, one line at a time.",
            section="Change",
            children=(
                Entry(
                    "list",
                    "List the variables in force, masked, with where each comes from and what it hides.",
                    "env:list_command",
                ),
                Entry("get", "Print the value that a gateway started here has for a variable.", "env:get_command"),
                Entry(
                    "set",
                    "Set one variable in the .env of the Hermes profile; every other line stays as it is.",
                    "env:set_command",
                ),
                Entry(
                    "unset",
                    "Remove a variable from the .env of the Hermes profile, every line of it.",
                    "env:unset_command",
                ),
                Entry(
                    "lint",
                    "Name each line of .env that is skipped, counts for nothing, or is read differently by the gateway "
                    "and others.",
                    "env:lint_command",
                ),
            ),
        ),
        Entry(
            "profile",
            "Look at the Canon profiles, and choose which one a Hermes profile uses.",
            section="Change",
            children=(
                Entry(
                    "list",
                    "List the Canon profiles, with agent, environment, storage, problems and the Hermes profiles that "
                    "use them.",
                    "profile:list_command",
                ),
                Entry("show", "Show one Canon profile, its key excepted.", "profile:show_command"),
                Entry(
                    "bind",
                    "Make the Hermes profile use a Canon profile, and remove what would override it.",
                    "profile:bind_command",
                ),
                Entry("unbind", "Make the Hermes profile name no Canon profile.", "profile:unbind_command"),
                Entry(
                    "cancel",
                    "Give up a registration with Canon that is not finished, so that nothing waits for it any more.",
                    "profile:cancel_command",
                ),
                Entry("migrate", "Bind an older Canon profile to its environment.", "profile:migrate_command"),
                Entry(
                    "export",
                    "Export Canon profiles for another machine; keys only with --include-secrets.",
                    "profile:export_command",
                ),
                Entry(
                    "import",
                    "Import Canon profiles from an exported file, or from another agents.json.",
                    "profile:import_command",
                ),
            ),
        ),
        Entry(
            "creds",
            "See where keys come from; test, move, remove and audit them.",
            section="Change",
            children=(
                Entry(
                    "list", "List the values in force, where each comes from, and what it hides.", "creds:list_command"
                ),
                Entry("test", "Ask the platform who the key is.", "creds:test_command"),
                Entry("move", "Move a key between its file and the system's keyring.", "creds:move_command"),
                Entry(
                    "remove",
                    "Remove a key from this machine: from its file, from the keyring, and from the history of changes.",
                    "creds:remove_command",
                ),
                Entry(
                    "audit",
                    "Find copies of keys, files that others can read, and keys in places that should not hold them.",
                    "creds:audit_command",
                ),
            ),
        ),
        Entry(
            "preferences",
            "Read and edit this tool's own settings.",
            section="Change",
            children=(
                Entry("list", "List this tool's own settings, and where each comes from.", "preferences:list_command"),
                Entry(
                    "set",
                    "Set one of this tool's own settings; comments and everything else in the file stay.",
                    "preferences:set_command",
                ),
                Entry(
                    "unset",
                    "Drop one of this tool's own settings, so that its default counts.",
                    "preferences:unset_command",
                ),
            ),
        ),
        Entry(
            "history",
            "Look at what this tool changed.",
            section="Change",
            children=(
                Entry("list", "List what this tool changed, the newest first.", "history:list_command"),
                Entry(
                    "show",
                    "Show one change: when, by which command, and the difference that it made; secrets are masked.",
                    "history:show_command",
                ),
                Entry(
                    "finish",
                    "Finish what a command that was killed left half-done.",
                    "history:finish_command",
                ),
            ),
        ),
        Entry(
            "undo",
            "Take a change of this tool back: every file gets the bytes from before it.",
            "history:undo_command",
            section="Change",
        ),
        Entry("status", "Show host, platforms, credential and gateway on one screen.", "status:command", "Look"),
        Entry(
            "approvals",
            "Look at detached approvals: what humans were asked, how it stands, and whether the records are whole.",
            section="Look",
            children=(
                Entry("list", "List detached approvals, the newest first.", "approvals:list_command"),
                Entry(
                    "show",
                    "Show one approval: what was asked, of whom, how it stands, and what to do next.",
                    "approvals:show_command",
                ),
                Entry("reconcile", "Find out at Canon how open approvals stand.", "approvals_reconcile:command"),
                Entry("abandon", "Give up approvals that nothing can settle any more.", "approvals_abandon:command"),
                Entry("watch", "Tell what happens to detached approvals, until stopped.", "approvals_watch:command"),
                Entry(
                    "audit",
                    "Print what happened to each approval, and check that the trail is whole.",
                    "approvals_care:audit_command",
                ),
                Entry(
                    "verify",
                    "Check the registry of detached approvals, entry by entry.",
                    "approvals_care:verify_command",
                ),
                Entry(
                    "export",
                    "Write approvals for another program: JSON, or CSV with a heading.",
                    "approvals:export_command",
                ),
                Entry(
                    "prune",
                    "Drop approvals that came to their end more than 14 days ago.",
                    "approvals_care:prune_command",
                ),
            ),
        ),
        Entry(
            "inbox",
            "Look at Borgee's messages on disk, and decide about those that a crash left in doubt.",
            section="Look",
            children=(
                Entry("list", "List receipts of Borgee's inbox, the newest first.", "inbox:list_command"),
                Entry("show", "Show one receipt: what was said, and how far it came.", "inbox:show_command"),
                Entry("stats", "Count receipts, and name the sessions that wait for a person.", "inbox:stats_command"),
                Entry("discard", "Give a quarantined receipt up; its message is never run.", "inbox:discard_command"),
                Entry("requeue", "Let a quarantined receipt run again, effects included.", "inbox:requeue_command"),
            ),
        ),
        Entry(
            "outbox",
            "Look at what Canon does not have for certain, and decide about what it refused.",
            section="Look",
            children=(
                Entry("list", "List what Canon does not have for certain, the oldest first.", "outbox:list_command"),
                Entry(
                    "show", "Show one message: its text, how far it came, and why not further.", "outbox:show_command"
                ),
                Entry("retry", "Have the gateway send a message again that it gave up.", "outbox:retry_command"),
                Entry(
                    "discard",
                    "Give a message up; the people in its conversation never get it.",
                    "outbox:discard_command",
                ),
            ),
        ),
        Entry(
            "doctor",
            "Check an installation, and name the command that repairs what is wrong, or repair it.",
            "doctor:command",
            section="Look",
        ),
        Entry(
            "explain",
            "Explain a check or an error code: cause, why it matters, and how to repair it by hand.",
            "explain:command",
            section="Look",
        ),
        Entry(
            "gateway",
            "See how the gateway of a Hermes profile stands, and restart it.",
            section="Look",
            children=(
                Entry(
                    "status",
                    "Show whether a gateway runs on the Hermes profile, and what it says of its platforms.",
                    "gateway:status_command",
                ),
                Entry(
                    "restart",
                    "Restart the gateway through the service that keeps it running, and wait for the new one.",
                    "gateway:restart_command",
                ),
            ),
        ),
        Entry(
            "logs",
            "Show the gateway's log: the last records, filtered, with every secret of the home taken out.",
            "logs:command",
            section="Look",
        ),
        Entry("version", "Show the versions of canon-ops, of Hermes and of Python.", "version:command", "Look"),
        Entry(
            "demo",
            "Watch the whole product work, in a temporary home and without any network.",
            "demo:command",
            section="Try",
        ),
        Entry(
            "sandbox",
            "Serve Canon, Borgee or a model on loopback, for trials and tests.",
            section="Try",
            children=(
                Entry("canon", "Serve the Canon API and stream on loopback until stopped.", "sandbox:canon_command"),
                Entry("borgee", "Serve Borgee's websocket on loopback until stopped.", "sandbox:borgee_command"),
                Entry("model", "Serve a scripted chat model on loopback until stopped.", "sandbox:model_command"),
            ),
        ),
        Entry(
            "completion",
            "Complete commands, options and values in bash, zsh and fish.",
            section="For scripts",
            children=(
                Entry("show", "Print the completion script of a shell.", "completion:show_command"),
                Entry(
                    "install", "Put the completion script where the shell looks for it.", "completion:install_command"
                ),
                Entry(
                    "status",
                    "Show for each shell whether its completion script is there, current, and found.",
                    "completion:status_command",
                ),
                Entry(
                    "uninstall",
                    "Remove the completion script of a shell, and what --rc added.",
                    "completion:uninstall_command",
                ),
            ),
        ),
        Entry(
            "man",
            "Read the manual.",
            section="For scripts",
            children=(
                Entry("show", "Show the manual page of a command.", "man:show_command"),
                Entry("path", "Print the folder of the manual pages, for MANPATH.", "man:path_command"),
            ),
        ),
        Entry(
            "schema",
            "Describe the JSON documents of the other commands.",
            section="For scripts",
            children=(
                Entry("list", "List the JSON documents that commands answer with.", "schema:list_command"),
                Entry("show", "Print the JSON Schema of one document.", "schema:show_command"),
            ),
        ),
    ),
)


def leaves(entry: Entry = ROOT, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Entry]]:
    """Every command with its words (``("config", "get")``), in the order of the table."""
    if not entry.children:
        return [(words, entry)]
    return [leaf for child in entry.children for leaf in leaves(child, (*words, child.name))]
