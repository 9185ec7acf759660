"""What Borgee relies on of Hermes, held against the host of this environment and against our own code."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

import pytest

from borgee_hermes import registration
from borgee_hermes.adapter import adapter_class
from canon_ops.hermes.contract import Use, compare
from canon_ops.hermes.contract_borgee import BORGEE_NEEDS
from canon_ops.hermes.host_call import describe_symbols

BASE = "gateway.platforms.base:BasePlatformAdapter."
OURS = {"send_clarify": "_send_clarify"}  # an adapter puts it upon itself under the host's name (decision 0090)


@pytest.mark.host
def test_this_host_has_everything() -> None:
    """Nothing breaks and nothing degrades on the audited host that tests run on."""
    described = describe_symbols(Path(sys.executable), [need.path for need in BORGEE_NEEDS], environ=os.environ)

    assert compare(BORGEE_NEEDS, described) == ()


@pytest.mark.host
def test_each_row_of_an_overridden_member_names_our_arguments() -> None:
    """The table says what our methods take; a member of the table that we do not override is a wrong row."""
    adapter = adapter_class()

    for need in BORGEE_NEEDS:
        if need.use is not Use.OVERRIDE:
            continue
        name = OURS.get(need.path.removeprefix(BASE), need.path.removeprefix(BASE))
        member = inspect.getattr_static(adapter, name)
        assert name in vars(adapter), need.path
        if callable(member):
            parameters = inspect.signature(member).parameters.values()
            taken = [one.name for one in parameters if one.name != "self" and one.kind is not one.VAR_KEYWORD]
            assert taken == list(need.keywords), need.path


def test_the_entry_is_in_the_table() -> None:
    """Every argument that we register has its row."""
    (row,) = (need for need in BORGEE_NEEDS if need.path == "gateway.platform_registry:PlatformEntry")

    assert set(registration._entry()) == set(row.holds)
