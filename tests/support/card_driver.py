"""Runs inside a child process and answers about one validator over pipes: a line of JSON in, a line of JSON out.

The first argument is a folder to import from, or ``-`` for what is installed; which ``canon_hermes_plugin`` that
finds is the validator in question. Only the standard library and that name are imported. The orders:

``{"do": "about"}``
    the limits, and how Python calls itself.
``{"do": "check", "cards": [...]}``
    the verdict on each card; a card that raises has the exception's name instead.
``{"do": "time", "cards": ["<JSON of a list>", ...]}``
    nanoseconds of processor time for looking at each card of each list once. A list is read just before, as a card is
    that a model has sent; every card is an object that nobody has seen.
"""

from __future__ import annotations

import gc
import json
import platform
import sys
import time
from typing import Any


def main() -> None:
    """Answer until stdin ends."""
    sys.set_int_max_str_digits(0)
    if sys.argv[1] != "-":
        sys.path.insert(0, sys.argv[1])
        sys.path.insert(0, sys.argv[2])
    from canon_hermes_plugin import RUNTIME_CARD_LIMITS, validate_card

    def check(value: Any) -> Any:
        try:
            return validate_card(value)
        except Exception as error:  # what it raises is the answer
            return type(error).__name__

    def timed(texts: list[str]) -> int:
        spent = 0
        gc.collect()
        gc.disable()
        for text in texts:
            cards = json.loads(text)
            start = time.process_time_ns()
            for card in cards:
                validate_card(card)
            spent += time.process_time_ns() - start
        gc.enable()
        return spent

    for line in sys.stdin:
        order = json.loads(line, object_hook=unusual)
        if order["do"] == "check":
            answer: Any = [check(card) for card in order["cards"]]
        elif order["do"] == "time":
            answer = timed(order["cards"])
        else:
            answer = {"limits": dict(RUNTIME_CARD_LIMITS), "python": platform.python_version()}
        print(json.dumps(answer), flush=True)  # noqa: T201  # stdout is the pipe


def unusual(value: dict[str, Any]) -> Any:
    """What JSON cannot carry, told by one key."""
    if value.keys() == {"$unusual"}:
        name = value["$unusual"]
        if name == "deep":
            deep: Any = 1
            for _ in range(100_000):
                deep = [deep]
            return deep
        return {"set": {1, 2}, "object": object(), "bytes": b"x", "tuple": ("a", "b"), "complex": 1j}[name]
    return value


if __name__ == "__main__":
    main()
