"""Hand-written texts of config.yaml, one for each shape that people write; the bytes are the point.

``READABLE`` texts are read by Hermes and may be edited; each has a name that says what is special about it.
"""

from __future__ import annotations

__all__ = ["READABLE"]

READABLE: dict[str, str] = {
    # -- nothing there yet
    "empty": "",
    "blank_lines": "\n\n",
    "comment_only": "# Hermes settings\n",
    "comment_only_without_newline": "# Hermes settings",
    "comments_and_blank_lines": "# one\n\n# two\n\n",
    "document_start_only": "---\n",
    "comment_and_document_start": "# head\n---\n",
    # -- plain blocks
    "one_key": "a: 1\n",
    "one_key_without_newline": "a: 1",
    "nested": (
        "model:\n  default: stub\n  api:\n    key: x\n    url: http://127.0.0.1:8080/v1\n"
        "plugins:\n  enabled:\n    - a\n"
    ),
    "four_spaces": "a:\n    b:\n        c: 1\n    d: 2\n",
    "mixed_indents": "a:\n  b: 1\nc:\n    d: 1\n    e:\n     f: 2\n",
    "aligned_values": "a:      1\nlong_key:  2\nb:\t  \n".replace("\t", ""),
    "trailing_spaces": "a: 1   \nb:   \n  c: 2  \n",
    "space_before_colon": "a : 1\nb :\n  c : 2\n",
    "value_on_next_line": "a:\n  hello\nb:\n  - x\n",
    "blank_lines_between": "a: 1\n\n\nb: 2\n\nc:\n\n  d: 3\n\n\n  e: 4\n\n",
    # -- comments
    "owner_comment": (  # BR-01
        "# owner: ops team, ask before editing\nplugins:\n  # reviewed 2026-03\n  enabled: []   # keep sorted\n"
        'display:\n  tool_progress: off\n  language: "en"\n'
    ),
    "comment_of_the_next_key": "a: 1\nb: 2\n\n# why c exists\nc: 3\n",  # BR-14
    "comment_blocks": "# a1\n# a2\na: 1 # beside a\n\n# section\n\n# b1\nb: 2\n# end\n",
    "comment_beside_a_list_name": "plugins: # see wiki\n  enabled: # keep\n  - a\n",  # BR-17
    "comments_in_lists": "l:\n  # about x\n  - x # one\n  # about y\n  - y # two\n  # tail\n# end\n",
    "comments_at_odd_indents": "a:\n  b: 1\n    # deep\n # shallow\n  c: 2\n# top\nd: 3\n",
    "tail_comment_of_a_section": "a:\n  b: 1\n  # c: 2\nd: 3\n",
    "tails": (
        "l:\n  - home:\n      x: 1\n      # tail of home\n    # tail of the item\n  # tail of l\n"
        "a:\n  b: 1\n    # held by b\nc: [   # why\n  x,\n  [y],  # about y\n]\n"
        "last:\n- k:\n    v: 1\n    # tail of k\n# end\n"
    ),
    "comment_without_newline": "a: 1\n# the end",
    "many_comments_at_the_end": "a: 1\n\n# ── Fallback ──\n# fallback_model:\n#   provider: x\n\n",
    "hashes_that_are_no_comments": (
        # -- lists
        "a: x#y\nb: 'it # s'\nc: \"q # r\"\nd: |\n  # text\n  more # text\ne: http://h/#f # real\n"
    ),
    "flush_and_indented_lists": "fallback:\n- model: a\n- model: b\nnotes:\n    - four spaces\n",  # BR-03
    "flush_list_last": "a:\n- x\n- y",
    "wide_dashes": "a:\n  -   x\n  -   y # c\nb: 1\n",
    "quoted_items": 'a:\n  - "x"\n  - "y"\nb:\n  - \'x\'\n',
    "list_of_mappings": "l:\n  - name: a # first\n    value: 1\n  - name: b\n    value: 2\n",
    "list_of_mappings_below_the_dash": "l:\n  -\n    name: a\n  -\n    name: b\n",
    "list_of_lists": "l:\n  - - a\n    - b\n  - [c, d]\n  -\n    - e\n",
    "list_with_null": "l:\n  - a\n  -\n  - ~\nm: 1\n",
    "list_of_one": "l:\n  - a\nm:\n  n:\n  - b\n",
    "fallback_providers": (  # BR-05
        "fallback_providers:\n  - provider: a\n    model: m\n  - provider: b\n# the end\n"
    ),
    "bare_words": (  # BR-07
        "a:\n  - off\n  - 0600\n  - 12:30\n  - 1e3\n  - 2026-01-02\n  - y\nmode: off\nversion: 1_000\n"
    ),
    # -- nothing inside
    "null_section": "plugins:\nplatforms:\n  canon:\n",  # N-1
    "null_section_with_comment": "plugins:   # mine\n  # nothing yet\n\nother: 1\n",
    "null_words": "a: null\nb: ~ # tilde\nc: Null\n",
    "empty_brackets": "a: []\nb: {}   # none\nc:\n  d: [ ]\n  e: { }\n",
    # -- brackets
    "flow_list": "enabled: [a, b]   # two\nnext: 1\n",
    "flow_map": "display: {busy_input_mode: queue, x: 1} # flow style\nnext: 1\n",
    "flow_spaced": "a: [ x, y ]\nb: { c: 1, d: 2 }\n",
    "flow_trailing_comma": "a: [x, y,]\nb: {c: 1, d: 2,}\n",
    "flow_nested": "extra: {list: [a, {b: c}], map: {d: {}}, e: []}\n",
    "flow_over_lines": "enabled: [\n  borgee,   # chat\n  canon-hermes,\n]\n",  # BR-20
    "flow_over_lines_without_comma": "enabled: [\n  borgee,   # chat\n  canon-hermes   # canon\n]\nnext: 1\n",
    "flow_over_lines_closed_behind": "enabled: [\n  a,\n  b]\nnext: 1\n",
    "flow_wrapped": "enabled: [a, b,\n  c, d]\nnext: {x: 1,\n  y: 2}\n",
    "flow_map_over_lines": "m: {\n  # about x\n  x: 1, # one\n\n  # about y\n  y: [1, 2], # two\n}\n",
    "flow_empty_over_lines": "a: [\n]\nb: {   # none\n}\n",
    "flow_bare_key_with_comment": "a: {\n  x,  # why\n  y  # too\n}\nb: {\n  z:  # null\n}\n",
    "flow_bare_key": "a: {x, y: 1}\nb: {}\n",
    "flow_quoted": 'a: ["x", "y"]\nb: [\'x\']\n',
    # -- texts
    "quotes": "a: \"x\"\nb: 'y'\nc: 'it''s'\nd: \"say \\\"hi\\\" \\u00e9\"\ne: ''\n",
    "quoted_keys": '"a.b": 1\n\'c d\': 2\n"e: f": {g: 1}\n',
    "literal_block": "a: |\n  one\n  two\n\nb: 1\n",
    "folded_block_with_header_comment": "a: >-  # folded\n  one\n  two\nb: 1\n",
    "kept_block": "a: |+\n  one\n\n\nb: |+\n  two\n\n# end\n",
    "block_with_indent_digit": "a: |2\n    deep\n  less\nb: 1\n",
    "blank_lines_below_a_block": "a:\n- |\n  first\n\n\nb:\n  c: |\n    x\n\n\nd: 1\n",
    "block_in_a_list": "l:\n  - |\n    one\n    two\n  - x\nm: 1\n",
    "text_over_lines": 'a: one\n  two\n  three # c\nb: "x\n  y" # d\nc: 1\n',
    "long_texts": f"plain: {'word ' * 40}end\nsingle: '{'word ' * 40}'\ndouble: \"{'word ' * 40}\"\nb: 1\n",  # BR-16
    "not_ascii": 'personalities:\n  家: "café 😀"\n  b: naïve # señor 😀\nэ: 1\n',  # BR-09
    "escapes": 'a: "\\U0001F600 \\xe9"\nb: 1\n',
    "dollar_references": 'a: ${TOKEN}\nb: "${TOKEN}"\nc:\n  d: x-${Y}-z\n',
    # -- keys
    "number_keys": "404: a\n1.5: b\nports:\n  8080: c\n",
    "explicit_keys": "? a\n: 1\n? b\n: c: 2\nd: 3\n",
    "empty_key_text": "'': 1\na: 2\n",
    # -- marks
    "document_start": "---\na: 1\nb:\n  - x\n",
    "document_start_with_comments": "# head\n--- # here\n# below\na: 1\n",
    "document_end": "a: 1\nb: 2\n...\n",
    "document_end_with_comment": "a: 1\n... # done\n# after\n",
    "directive": "%YAML 1.1\n---\na: 1\n",
    # -- line ends, byte-order mark
    "crlf": "# head\r\na: 1\r\nb:\r\n  - x\r\n  - y # c\r\nc: {d: 1}\r\n",
    "crlf_without_last": "a: 1\r\nb:\r\n  c: 2",
    "bom_and_crlf": "\ufeffa: 1\r\nb: [x]\r\n",  # N-6
    "bom": "\ufeff# head\na: 1\n",
    "mixed_line_ends": "a: 1\r\nb: 2\nc:\r\n  d: 3\n",
    # -- anchors and merge keys
    "anchors": "base: &b\n  x: 1\n  y: 2\nuse: *b\nother: 3\n",  # N-5
    "merge": "base: &b {x: 1}\nmode: 0600\nt: 12:30\nv: 1_000\nuse:\n  <<: *b\n  z: 2\n",
    "anchored_list": "a: &l\n  - x\n  - y\nb: *l\nc: [*l, z]\n",
    "anchored_text": "a: &t hello\nb: *t\nc: 1\n",
    "tags": "a: !!str 1\nb: !!map\n  c: 1\nd: !!seq\n  - 1\n",
    # -- as other programs write it
    "hermes_dump": (
        "model:\n  default: stub\n  provider: ''\n"
        "toolsets:\n- hermes-cli\nagent:\n  max_turns: 90\n_config_version: 33\n"
    ),
    "jetbrains_style": "a:\n    - b: 1\n      c: 2\n\n    - b: 3\n      c: 4\n",
}
