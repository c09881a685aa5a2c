"""Runs a script with Lua 5.1 from PyPI: `lua51.py SCRIPT ARGUMENT…`. The system often has another version."""

import os
import sys

from lupa.lua51 import LuaError, LuaRuntime

lua = LuaRuntime(register_eval=False, register_builtins=False, encoding="utf-8")
lua.globals().arg = lua.table_from({position: text for position, text in enumerate(sys.argv[1:])})
try:
    lua.execute(open(sys.argv[1], encoding="utf-8").read())
except LuaError as error:
    sys.exit(f"{sys.argv[1]}: {error}")
lua.execute("io.stdout:flush()")
os._exit(0)
