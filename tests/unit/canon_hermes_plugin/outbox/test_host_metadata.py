"""What of the host's metadata reaches a message."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.outbox.host_metadata import Split, split_metadata


def test_s7_48_ids_cannot_be_brought_in() -> None:
    """S7.48: a message id in the options appears nowhere."""
    split = split_metadata({"canon_options": {"messageId": "x"}})

    assert split == Split({}, {})


def test_s3_32_an_authority_cannot_be_brought_in() -> None:
    """S3.32: neither can a reply authority."""
    assert split_metadata({"canon_options": {"replyAuthority": {"token": "t"}, "mentions": ["u"]}}).options == {
        "mentions": ["u"]
    }


def test_the_rest_stands_under_hermes_without_markers() -> None:
    """D31: the host's own markers and ours stay behind."""
    markers = {"expect_edits": True, "notify": True, "_interim_send": 1, "is_approval_prompt": False}

    split = split_metadata({**markers, "reply_to_message_id": "m", "source": "cron"})

    assert split.metadata == {"hermes": {"source": "cron"}}


def test_canon_metadata_wins_over_the_rest() -> None:
    """R7.9: with explicit metadata nothing goes under ``hermes``."""
    split = split_metadata({"canon_metadata": {"k": 1}, "source": "cron"})

    assert split.metadata == {"k": 1}


def test_what_has_no_json_form_is_left_out() -> None:
    """D31: an object, a NaN, a set and a value that contains itself cost only themselves."""
    endless: list[Any] = []
    endless.append(endless)

    split = split_metadata({"a": object(), "b": float("nan"), "c": {1}, "d": endless, "e": "kept", 6: "no"})

    assert split.metadata == {"hermes": {"e": "kept"}}


def test_too_much_is_left_out() -> None:
    """D31: a message is not refused because of its decoration."""
    assert split_metadata({"source": "x" * 2_000}).metadata == {}
    assert split_metadata({"canon_metadata": {"k": "x" * 4_000}}).metadata == {}


def test_the_hosts_object_is_copied() -> None:
    """What the host changes afterwards does not change the message."""
    options = {"mentions": ["u1"]}
    split = split_metadata({"canon_options": options})

    options["mentions"].append("u2")

    assert split.options == {"mentions": ["u1"]}


@pytest.mark.parametrize("value", [None, "x", 3, []])
def test_anything_but_an_object_says_nothing(value: object) -> None:
    """The host may pass none."""
    assert split_metadata(value) == Split({}, {})
