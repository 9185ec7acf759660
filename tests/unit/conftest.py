"""What holds for the tests of single rooms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from canon_ops.hermes.host_question import Question
from tests.support.forked_hosts import ForkedHosts


@pytest.fixture(scope="session", autouse=True)
def forked_hosts() -> Iterator[ForkedHosts]:
    """A host made by hand answers from a fork: thousands of questions need no interpreter of their own."""
    hosts = ForkedHosts()
    with pytest.MonkeyPatch.context() as patch:
        if hosts.works:
            patch.setattr(Question, "start", staticmethod(hosts.start))
        yield hosts
    hosts.close()
