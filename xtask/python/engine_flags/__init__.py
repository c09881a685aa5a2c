"""Reads which command-line flags an engine accepts out of the source text of its wheel.

Nothing of the wheel is imported or run. `interpreter` follows, in the syntax trees, the functions that fill an
`argparse` parser; `arguments` turns what they register into facts; one module per package says where to begin.
"""
