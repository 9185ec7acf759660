"""What each row of ``make bench-peers`` says below the table: what both sides were given, and why we are behind."""

from __future__ import annotations

__all__ = ["NOTES"]

NOTES = {
    "doctor, in the host": (
        "`canon-ops doctor --offline` beside `canon-hermes doctor`, each in its host's own environment; ours asks "
        "every check that needs no network, the peer asks what it asks. Home {digest}."
    ),
    "doctor, from outside": "canon-ops in an environment without a host asks the host's interpreter.",
    "doctor, cold": (
        "what is known of the host was forgotten, as right after an update: ours reads the host's packages and asks it "
        "anew whether it would load the plugin; the peer runs in the host and keeps nothing."
    ),
    "install": (
        "the package is in the host's environment already. Ours also plans, asks the host to load the plugin, keeps "
        "the files for `undo` and writes them in one synchronised transaction; the peer edits two files. The question "
        "starts the host in a process of its own, and is most of the time."
    ),
    "install, a second time": "changes nothing on either side; ours says so after it has asked the host again.",
    "cards": "{count} cards, input {digest}; processor time of both on one Python 3.13.",
    "cards: something wrong": "Ours looks twice at a card that is wrong, to name every error and not the first alone.",
    "cards: near 32 KiB": "Both have to write the card as JSON to know its size; ours has looked at its parts before.",
    "stream": (
        "{count} typing marks and one message through the whole adapter, a second of its processor time: the peer's "
        "decoder is not to be had alone, so this is reading, decoding, parsing and dropping. Input {digest}. Ours "
        "alone is held beside `json.loads` by `make bench BENCH=sse`; here half of its time is the cursor, which "
        "admits each event and passes it when it is done, so that nothing is lost when the gateway dies."
    ),
    "inbound": (
        "{count} messages in {conversations} conversations up to the host's `handle_message`, input {digest}. Ours has "
        "each on the disk before the host sees it; nothing is known of the peer's disk. A fifth of our processor time "
        "is the disk's thread, the rest is spread over parsing, gate, cursor and lanes."
    ),
    "registry": (
        "one change a call: an entry's receipt is seen, among 1,000 entries. Both on Python 3.13; {waits}; ours also "
        "writes its audit trail."
    ),
    "inbox: receipts": (
        "bursts of {count} messages in {channels} channels up to their rows on the disk, input {digest}; {beside}. "
        "`make bench BENCH=borgee_receipts` counts how often each waits for the disk."
    ),
    "inbox: a single message": "from a person's word to its row; {beside}.",
    "load": "import and registration in a process that has loaded the host's gateway, {measure}.",
    "load, canon": (
        "Ours loads about 180 modules at registration, the peer about 20 large ones; most of the time goes into data "
        "classes, whose code the standard library writes at import. It is paid once a start of a gateway."
    ),
    "gateway memory": "resident memory of a whole gateway, {beside}, connected and at rest; most of it is the host's.",
    "gateway memory, canon": (
        "Ours asks the host at connect for what the host itself loads with its first command (its table of commands "
        "and the terminal library behind it), and has its modules for approvals, inbox and outbox loaded and their "
        "database open."
    ),
}
"""By row or group of rows; the words in braces are filled in by what was measured."""
