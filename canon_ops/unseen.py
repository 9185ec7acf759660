"""Floor 0: characters that nobody sees and that change what is read, as parts of the set of a pattern.

Strangers choose names and write texts; a person at a screen and a model read them. What turns the order of the letters
shows another text than is there, and what has no shape at all says something to a model that no person reads.
Joiners are in neither set: emoji and several scripts are written with them.

Source: Unicode, the property Bidi_Control; the block Tags; what is Default_Ignorable besides and stands in no word.
"""

from __future__ import annotations

__all__ = ["SHAPELESS", "TURNING"]

TURNING = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
SHAPELESS = r"\u200b\u2060-\u2065\ufeff\U000e0000-\U000e007f"
