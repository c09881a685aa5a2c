-- Runs one health check as Argo CD does: with the base and table libraries and `obj`, and nothing of strings.
--
-- Usage: lua51.py health.lua SCRIPT OBJECTS, OBJECTS being a chunk that returns a list of tables with an `object` each.
-- Prints status and message of each, every one ended by a zero byte.
assert(_VERSION == "Lua 5.1", "Argo CD's interpreter is one of Lua 5.1, this is " .. _VERSION)
local objects = assert(loadfile(arg[2]))()
local write = io.write
-- gopher-lua without its string library has no methods on strings either.
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
