"""The manual: one page a command, made from the command tree and the tables that the program itself uses.

:mod:`~canon_ops.cli.manual.page` says what a page holds, :mod:`~canon_ops.cli.manual.roff` writes it for ``man``,
:mod:`~canon_ops.cli.manual.markdown` for the reference. :mod:`~canon_ops.cli.manual.files` lists everything that is
generated and checked in, completion scripts and JSON Schemas included.
"""
