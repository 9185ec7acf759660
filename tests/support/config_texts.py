"""Random texts of config.yaml as people write them: every style of value, comments everywhere, uneven indents.

The writer is a plain function of a random source. It writes, but for rare slips, only what the gateway's loader reads;
the values are whatever they are, the oracle reads them.
"""

from __future__ import annotations

from random import Random

__all__ = ["write_text"]

KEYS = ("a", "b", "model", "canon-hermes", "enabled", "'q k'", '"d.k"', "x_1", "家", "404", "long_key_name", "e/f")
SCALARS = (
    "1", "x", "true", "off", "12:30", "0600", "1.5", "null", "~", "''", '"y"', "'it''s # no comment'", '"a \\" # b"',
    "http://h:8080/v1#f", "two words", "2026-01-02", "naïve 😀", "${TOKEN}", "-x", "a,b", '"\\u00e9"',
)  # fmt: skip
FLOW_SCALARS = ("1", "x", "true", "off", "''", '"y, z"', "'it''s ]'", "two words", "http://h/x", "1.5", "~")
COMMENTS = ("# note", "# a: 1", "#", "#no blank", "# naïve - x", "# '\"")


def write_text(random: Random) -> str:
    """One document."""
    writer = _Writer(random)
    text = writer.document()
    if random.random() < 0.15:
        text = text.replace("\n", "\r\n")
    if random.random() < 0.15 and not writer.ends_in_block:
        text = text.rstrip("\r\n")
    return "\ufeff" + text if random.random() < 0.1 else text


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.ends_in_block = False

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def document(self) -> str:
        parts = []
        if self.chance(0.2):
            parts.append(self.filler(0))
        if self.chance(0.1):
            parts.append("---\n")
        parts.append(self.mapping(0, 3))
        if self.chance(0.3):
            parts.append(self.filler(0))
        if self.chance(0.05):
            parts.append("...\n")
        return "".join(parts)

    def filler(self, indent: int) -> str:
        """Blank lines and comment lines."""
        lines = []
        for _ in range(self.random.randint(1, 3)):
            where = indent if self.chance(0.8) else self.random.randint(0, 6)
            lines.append("\n" if self.chance(0.4) else " " * where + self.random.choice(COMMENTS) + "\n")
        return "".join(lines)

    def beside(self) -> str:
        """What may follow a value on its line."""
        if self.chance(0.25):
            return " " * self.random.randint(1, 4) + self.random.choice(COMMENTS) + "\n"
        return ("  " if self.chance(0.05) else "") + "\n"

    def mapping(self, indent: int, depth: int, first: str = "") -> str:
        """A block mapping; ``first`` is what already stands on its first line."""
        keys = self.random.sample(KEYS, self.random.randint(1, 4))
        parts = []
        for number, key in enumerate(keys):
            lead = first if number == 0 and first else " " * indent
            if not (number == 0 and first) and self.chance(0.3):
                parts.append(self.filler(indent))
            parts.append(f"{lead}{key}{' ' if self.chance(0.05) else ''}:{self.value(indent, depth)}")
        return "".join(parts) + self.tail(indent)

    def tail(self, indent: int) -> str:
        """What may stand below the last entry of a section."""
        if not indent or self.ends_in_block or not self.chance(0.12):
            return ""
        return self.filler(indent)

    def value(self, indent: int, depth: int, *, item: bool = False) -> str:
        """A value from behind its colon or dash to its line's end."""
        self.ends_in_block = False
        kind = self.random.random()
        gap = " " * (1 if self.chance(0.85) else self.random.randint(2, 5))
        if kind < 0.45 or depth == 0:
            return gap + self.random.choice(SCALARS) + self.beside()
        if kind < 0.52:
            return self.beside()  # null
        if kind < 0.62:
            return gap + self.flow(indent + 2, 2) + self.beside()
        if kind < 0.68:
            return gap + self.block_text(indent + 2)
        if kind < 0.71:
            return f"{gap}plain over\n{' ' * (indent + 3)}two lines{self.beside()}"
        deeper = indent + self.random.choice((1, 2, 2, 2, 4))
        if kind < 0.86:
            return self.beside() + (self.filler(deeper) if self.chance(0.15) else "") + self.mapping(deeper, depth - 1)
        column = deeper if item or self.chance(0.6) else indent
        return self.beside() + (self.filler(column) if self.chance(0.15) else "") + self.sequence(column, depth - 1)

    def sequence(self, indent: int, depth: int) -> str:
        parts = []
        gap = " " * (1 if self.chance(0.8) else self.random.randint(2, 3))
        for number in range(self.random.randint(1, 4)):
            if number and self.chance(0.25):
                parts.append(self.filler(indent))
            lead = " " * indent + "-"
            if depth > 0 and self.chance(0.3):
                parts.append(self.mapping(indent + 1 + len(gap), depth - 1, first=lead + gap))
            else:
                parts.append(lead + self.value(indent, depth, item=True))
        return "".join(parts) + self.tail(indent)

    def block_text(self, indent: int) -> str:
        head = self.random.choice(("|", ">", "|-", ">-", "|+"))
        lines = [
            self.random.choice(("text", "# not a comment", "  deeper", "")) for _ in range(self.random.randint(1, 3))
        ]
        lines = ["first", *lines]
        body = "".join(" " * indent + line + "\n" if line else "\n" for line in lines)
        self.ends_in_block = True
        return head + self.beside() + body

    def flow(self, indent: int, depth: int) -> str:
        return self.flow_list(indent, depth) if self.chance(0.5) else self.flow_mapping(indent, depth)

    def flow_list(self, indent: int, depth: int) -> str:
        items = [self.flow_value(indent, depth) for _ in range(self.random.randint(0, 3))]
        return self.brackets("[", items, "]", indent)

    def flow_mapping(self, indent: int, depth: int) -> str:
        keys = self.random.sample(KEYS, self.random.randint(0, 3))
        items = [
            key if self.chance(0.05) and key.isalpha() else f"{key}: {self.flow_value(indent, depth)}" for key in keys
        ]
        return self.brackets("{", items, "}", indent)

    def flow_value(self, indent: int, depth: int) -> str:
        if depth > 0 and self.chance(0.25):
            return self.flow(indent + 2, depth - 1)
        return self.random.choice(FLOW_SCALARS)

    def brackets(self, left: str, items: list[str], right: str, indent: int) -> str:
        style = self.random.random()
        comma = "," if items and self.chance(0.2) else ""
        if style < 0.6 or not items:
            pad = " " if self.chance(0.2) else ""
            return f"{left}{pad}{', '.join(items)}{comma}{pad}{right}"
        if style < 0.7:
            return f"{left}{(',' + chr(10) + ' ' * indent).join(items)}{comma}{right}"
        lines = []
        for number, item in enumerate(items):
            last = number == len(items) - 1
            note = f"  {self.random.choice(COMMENTS)}" if self.chance(0.3) else ""
            if self.chance(0.15):
                lines.append(" " * indent + self.random.choice(COMMENTS) + "\n")
            lines.append(f"{' ' * indent}{item}{comma if last else ','}{note}\n")
        return f"{left}\n{''.join(lines)}{' ' * indent}{right}"
