"""The owner's phone number: cleaned of what people paste along, checked, never guessed.

Canon is the authority on numbers, so this only asks for the international form; whether such a number exists is the
server's to say. The cleaned number is shown back before anything is sent.

Source: command-line contract, section 7.
"""

from __future__ import annotations

import unicodedata

from canon_ops.errors import UsageError

__all__ = ["BadPhone", "clean_phone"]

_MIN_DIGITS, _MAX_DIGITS = 8, 15  # E.164 allows fifteen
_SEPARATORS = frozenset(" -./()\u2010\u2011\u2012\u2013\u2014\u2212\u00b7")


class BadPhone(UsageError):
    """No number in the international form."""

    code = "phone_invalid"

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text!r} is no phone number for Canon: {why}", fix="--owner-phone +COUNTRYNUMBER")
        self.why = why


def clean_phone(text: str) -> str:
    """The number as ``+`` and 8 to 15 digits.

    White space, separators, invisible marks and a leading ``tel:`` go; digits of any script and full-width signs become
    ASCII.

    Raises:
        BadPhone: anything else is in it, it has no ``+`` and country code, or the length is wrong.
    """
    plain = "".join(_plain(character) for character in unicodedata.normalize("NFKC", text))
    number = plain.strip().removeprefix("tel:").removeprefix("TEL:")
    if "(0)" in number.replace(" ", ""):
        raise BadPhone(text, "leave out the (0); it is not dialled after the country code")
    number = "".join(character for character in number if character not in _SEPARATORS)
    digits = number.removeprefix("+")
    if not digits:
        raise BadPhone(text, "it is empty")
    if not (digits.isascii() and digits.isdigit()):
        stray = next(character for character in digits if not (character.isascii() and character.isdigit()))
        raise BadPhone(text, f"{stray!r} does not belong into it")
    if not number.startswith("+"):
        hint = f"write +{digits[2:]}" if digits.startswith("00") else "begin with + and the country code"
        raise BadPhone(text, hint)
    if digits.startswith("0"):
        raise BadPhone(text, "no country code begins with 0")
    if not _MIN_DIGITS <= len(digits) <= _MAX_DIGITS:
        raise BadPhone(text, f"it has {len(digits)} digits; {_MIN_DIGITS} to {_MAX_DIGITS} are possible")
    return number


def _plain(character: str) -> str:
    """Digits of every script as ASCII, white space as a blank, invisible marks as nothing."""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) in ("Cf", "Cc", "Mn") else character
