"""What holds for every test process."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.host_leaks import close_ledgers
from tests.support.loggers import let_loggers_be_listed
from tests.support.order import dealt_out
from tests.support.own_home import move_out

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # a busy machine is no failure


FAULTS = "faults"
"""The property under which a test reports how often faults fired and were met: ``[[name, fired, met], ...]``."""


COLLECTED = pytest.StashKey[set[str]]()
"""``module::function`` of every test that this run found, also of those that it leaves out."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays to the end: the garbage collector looks neither while it grows nor at it afterwards."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Remember what was found; then, in one of several workers, deal what is left out evenly."""
    config.stash[COLLECTED] = {f"{module_of(item)}::{getattr(item, 'originalname', item.name)}" for item in items}
    yield
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = dealt_out(
            items, workers, module=module_of, is_heavy=lambda name: name.startswith("tests/acceptance")
        )


def module_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def pytest_configure() -> None:
    """A home of our own. What starts a run in the background may leave it deaf to signals, and its children with it."""
    move_out(os.environ)
    let_loggers_be_listed()
    for number, hears in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, hears)


@pytest.fixture(autouse=True)
def closed_ledgers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test with the host in its own process leaves no connection of the host behind."""
    if request.node.get_closest_marker("host") is not None:
        close_ledgers(monkeypatch)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """T7: what each fault of the sandbox did in this run, over all workers."""
    reports = (report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind))
    told = [row for report in reports for name, rows in report.user_properties if name == FAULTS for row in rows]
    if not told:
        return
    fired, met = Counter[str](), Counter[str]()
    for name, times, occasions in told:
        fired[name] += times
        met[name] += occasions
    terminalreporter.section(f"faults of the Canon sandbox: {len(met)}")
    for name in sorted(met):
        terminalreporter.write_line(f"{name:32} fired {fired[name]:4} met {met[name]:5}")
