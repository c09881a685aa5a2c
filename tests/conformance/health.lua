-- Runs one health check as Argo CD does: with `obj` and the base and table libraries, but without the string library.
--
-- Usage: lua51.py health.lua SCRIPT OBJECTS. OBJECTS is a Lua chunk that returns a list of tables with an `object`.
-- Prints the status and the message of each object, each followed by a zero byte.
assert(_VERSION == "Lua 5.1", "Argo CD's interpreter is one of Lua 5.1, this is " .. _VERSION)
local objects = assert(loadfile(arg[2]))()
local write = io.write
-- Without its string library, gopher-lua has no methods on strings either.
debug.setmetatable("", nil)
for _, one in ipairs(objects) do
  local script = assert(loadfile(arg[1]))
  local globals = {table = table, obj = one.object}
  for _, name in ipairs({
    "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawset", "select",
    "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall",
  }) do
    globals[name] = _G[name]
  end
  local result = setfenv(script, globals)()
  assert(type(result) == "table", "no table is returned")
  for key in pairs(result) do assert(key == "status" or key == "message", "Argo CD reads no such field") end
  assert(type(result.status) == "string" and type(result.message) == "string", "status and message are texts")
  write(result.status, "\0", result.message, "\0")
end
