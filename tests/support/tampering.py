"""What a faulty edit may do to comments: one of a text is lost, moved, indented otherwise, exchanged or made up.

Where comments are is told by PyYAML's tokens; nothing here is the editor's.
"""

from __future__ import annotations

from random import Random

from tests.support.comment_oracle import places_of_comments

__all__ = ["tampered"]


def tampered(source: Random, text: str) -> str | None:
    """``text`` with something done to one of its comments; None when there is none, or nothing came of it."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix("\ufeff")
    comments = places_of_comments(body)
    if not comments:
        return None
    one, other = source.choice(comments), source.choice(comments)
    harm = source.choice((_lost, _indented, _moved, _made_up))
    new = _exchanged(body, one, other) if one != other and source.random() < 0.2 else harm(source, body, *one)
    return None if new == body else mark + new


def _lost(_source: Random, text: str, start: int, words: str) -> str:
    begin, stop = _line(text, start)
    if _is_alone(text, start):
        return text[:begin] + text[stop:]
    return text[:start].rstrip(" ") + text[start + len(words) :]


def _indented(source: Random, text: str, start: int, words: str) -> str:
    """In another column; one that stood beside something stands below it then."""
    blanks = " " * source.randint(0, 8)
    if _is_alone(text, start):
        return text[: _line(text, start)[0]] + blanks + text[start:]
    return text[:start].rstrip(" ") + _newline(text) + blanks + text[start:]


def _moved(source: Random, text: str, start: int, words: str) -> str:
    lines = _lost(source, text, start, words).split("\n")
    place = source.randrange(len(lines))
    if source.random() < 0.5:
        lines.insert(place, " " * source.randint(0, 8) + words)
    else:
        bare = lines[place].rstrip("\r")
        lines[place] = f"{bare}  {words}{lines[place][len(bare) :]}"
    return "\n".join(lines)


def _made_up(_source: Random, text: str, start: int, words: str) -> str:
    begin, end = _line(text, start)[0], start + len(words)
    if _is_alone(text, start):
        return f"{text[:start]}# nobody's{_newline(text)}{text[begin:]}"
    return f"{text[:end]} more{text[end:]}"


def _exchanged(text: str, one: tuple[int, str], other: tuple[int, str]) -> str:
    (first, left), (second, right) = sorted((one, other))
    return f"{text[:first]}{right}{text[first + len(left) : second]}{left}{text[second + len(right) :]}"


def _line(text: str, index: int) -> tuple[int, int]:
    stop = text.find("\n", index) + 1
    return text.rfind("\n", 0, index) + 1, stop or len(text)


def _is_alone(text: str, start: int) -> bool:
    return not text[_line(text, start)[0] : start].strip(" ")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
