import json
import sys
import unicodedata

import pytest

from bosquet.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Größe ∞ 木 é 😀", "Größe ∞ 木 é 😀"),
        ("\x1b[31mred", r"\u001b[31mred"),
        ("title\x1b]0;x\x07", r"title\u001b]0;x\u0007"),
        ("a\rb\x08\x7f\x00", r"a\u000db\u0008\u007f\u0000"),
        ("\x9b31m", r"\u009b31m"),
        ("fdp\u202eexe.", r"fdp\u202eexe."),
        ("\u2066\u200b\ufeff\u200f", r"\u2066\u200b\ufeff\u200f"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\U000e0041", r"\udb40\udc41"),
        ("\udc80", r"\udc80"),
    ],
)
def test_control_characters_are_shown(text, shown):
    assert printable(text) == shown
    assert json.loads(f'"{shown}"') == text


def test_line_ends_are_kept_where_a_text_has_several_lines():
    assert printable("a\n\tb\r\n") == r"a\u000a\u0009b\u000d\u000a"
    assert printable("a\n\tb\r\n", lines=True) == "a\n\tb\\u000d\n"


def test_of_all_characters_only_harmless_ones_are_left():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {unicodedata.category(char) for char in printable(everything)}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    printable(everything).encode()
