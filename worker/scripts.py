"""The Lua scripts by which Redis makes or reads a change in one step; keys and layout as in `store`.

Each gets the collection's `about` hash as its only key and builds the others from it: they share its slot.
"""

from __future__ import annotations

from typing import Final

ENSURE: Final = """
if redis.call('HSETNX', KEYS[1], 'live', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'layout', ARGV[2], ARGV[1] .. ':fingerprint', ARGV[3],
             ARGV[1] .. ':dimension', ARGV[4], ARGV[1] .. ':version', 0, ARGV[1] .. ':rows', 0,
             ARGV[1] .. ':bytes', 0)
end
return redis.call('HGETALL', KEYS[1])
"""

# Shared by the two scripts that change one document: finds the generation and refuses what does not belong there.
_OPEN: Final = """
local about, name, generation, fingerprint = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
if generation == '' then generation = redis.call('HGET', about, 'live') end
local found = generation and redis.call('HGET', about, generation .. ':fingerprint')
if not found then return redis.error_reply('UNKNOWN') end
if fingerprint ~= '' and fingerprint ~= found then return redis.error_reply('EMBEDDER') end
local base = string.sub(about, 1, -6) .. generation .. ':'
local document = base .. 'document:' .. name
local rows_before = tonumber(redis.call('HGET', document, 'count') or 0)
local bytes_before = redis.call('HSTRLEN', document, 'vectors') + redis.call('HSTRLEN', document, 'chunks')
local function changed(rows, bytes)
  local version = redis.call('HINCRBY', about, generation .. ':version', 1)
  redis.call('HINCRBY', about, generation .. ':rows', rows - rows_before)
  redis.call('HINCRBY', about, generation .. ':bytes', bytes - bytes_before)
  redis.call('ZADD', base .. 'changes', version, name)
  redis.call('PUBLISH', string.sub(about, 1, -6) .. 'changed', version)
  return version
end
"""

REPLACE: Final = (
    _OPEN
    + """
local info, count, size, vectors, chunks = ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8]
if count > 0 and size ~= redis.call('HGET', about, generation .. ':dimension') then
  return redis.error_reply('DIMENSION')
end
if count == 0 then vectors, chunks = '', '' end
local version = changed(count, #vectors + #chunks)
redis.call('DEL', document)
if count > 0 then
  redis.call('HSET', document, 'version', version, 'count', count, 'vectors', vectors, 'chunks', chunks)
end
redis.call('HSET', base .. 'documents', name, info)
return version
"""
)

REMOVE: Final = (
    _OPEN
    + """
if redis.call('HDEL', base .. 'documents', name) == 0 then return 0 end
redis.call('DEL', document)
return changed(0, 0)
"""
)

CHANGES: Final = """
local about, generation, since, most = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local base = string.sub(about, 1, -6) .. generation .. ':'
local version = redis.call('HGET', about, generation .. ':version')
if not version then return redis.error_reply('UNKNOWN') end
local log = redis.call('ZRANGEBYSCORE', base .. 'changes', '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local page, rows = {version}, 0
for i = 1, #log, 2 do
  local found = redis.call('HMGET', base .. 'document:' .. log[i], 'count', 'vectors', 'chunks')
  local info = redis.call('HGET', base .. 'documents', log[i])
  page[#page + 1] = {log[i], log[i + 1], info, found[1], found[2], found[3]}
  rows = rows + tonumber(found[1] or 0)
  if rows >= most then break end
end
return page
"""


SWITCH: Final = """
local version = redis.call('HGET', KEYS[1], ARGV[1] .. ':version')
if not version then return redis.error_reply('UNKNOWN') end
redis.call('HSET', KEYS[1], 'live', ARGV[1], 'layout', ARGV[2])
return redis.call('PUBLISH', string.sub(KEYS[1], 1, -6) .. 'changed', version)
"""
