"""Phone numbers as people paste them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_ops.errors import ExitCode
from canon_ops.operate.phone import BadPhone, clean_phone


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+14155550123", "+14155550123"),
        ("  +1 (202) 555-0123\n", "+12025550123"),
        ("tel:+12025550123", "+12025550123"),
        ("+49030123456", "+49030123456"),
        ("+49\u00a030\u202f12 34\u201156", "+4930123456"),
        ("\u202a+1\u200b202\u2060555\u200e0123\u202c", "+12025550123"),
        ("＋１２０２５５５０１２３", "+12025550123"),
        ("+٩٧٢٥٠١٢٣٤٥٦٧", "+972501234567"),
        ("+1.202.555.0123", "+12025550123"),
        ("+1/202/555\u20130123", "+12025550123"),
        ("+15550100", "+15550100"),
        ("+123456789012345", "+123456789012345"),
    ],
)
def test_separators_and_invisible_marks_go(text: str, number: str) -> None:
    """BR-54: what people paste along is removed, full-width and other digits become ASCII."""
    assert clean_phone(text) == number


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0049 30 123456", r"write \+4930123456"),
        ("2025550123", "begin with"),
        ("+0123456789", "no country code begins with 0"),
        ("+12025550123;ext=5", "';' does not belong"),
        ("+1202555O123", "'O' does not belong"),
        ("+49 (0) 30 123456", r"leave out the \(0\)"),
        ("+1234567", "7 digits"),
        ("+1234567890123456", "16 digits"),
        ("++12025550123", r"'\+' does not belong"),
        ("", "empty"),
        ("+", "empty"),
        ("tel:", "empty"),
        ("\u200b", "empty"),
    ],
)
def test_what_is_no_international_number_is_refused_with_the_reason(text: str, why: str) -> None:
    """BR-54: no guessing of country codes, no extension, eight to fifteen digits."""
    with pytest.raises(BadPhone, match=why) as caught:
        clean_phone(text)

    assert caught.value.exit_code is ExitCode.USAGE


@given(st.text())
def test_any_text_gives_a_clean_number_or_a_refusal(text: str) -> None:
    """Whatever is typed, the result has the promised form and cleaning it again changes nothing."""
    try:
        number = clean_phone(text)
    except BadPhone:
        return

    assert number[0] == "+"
    assert number[1:].isdigit() and number.isascii()
    assert 8 <= len(number[1:]) <= 15
    assert clean_phone(number) == number
