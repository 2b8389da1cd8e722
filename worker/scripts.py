"""The Lua scripts by which Redis makes or reads a change in one step; keys and layout as in `store`.

Each gets the collection's `about` hash as its only key and builds the others from it: they share its slot.
"""

from __future__ import annotations

from typing import Final

ENSURE: Final = """
if redis.call('HSETNX', KEYS[1], 'live', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'layout', ARGV[2], ARGV[1] .. ':fingerprint', ARGV[3],
             ARGV[1] .. ':dimension', ARGV[4], ARGV[1] .. ':chunking', ARGV[5], ARGV[1] .. ':version', 0,
             ARGV[1] .. ':rows', 0, ARGV[1] .. ':bytes', 0)
end
return redis.call('HGETALL', KEYS[1])
"""

# Shared by the scripts that change a document: finds the generation and refuses what does not belong there.
_OPEN: Final = """
local about, name, generation, fingerprint = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
if generation == '' then generation = redis.call('HGET', about, 'live') end
local found = generation and redis.call('HGET', about, generation .. ':fingerprint')
if not found then return redis.error_reply('UNKNOWN') end
if fingerprint ~= '' and fingerprint ~= found then return redis.error_reply('EMBEDDER') end
local base = string.sub(about, 1, -6) .. generation .. ':'
local infos = base .. 'documents'
local document = base .. 'document:' .. name
local function changed(name)
  local version = redis.call('HINCRBY', about, generation .. ':version', 1)
  redis.call('ZADD', base .. 'changes', version, name)
  redis.call('PUBLISH', string.sub(about, 1, -6) .. 'changed', version)
  return version
end
local function size(document)
  local bytes = redis.call('HSTRLEN', document, 'vectors') + redis.call('HSTRLEN', document, 'chunks')
  return tonumber(redis.call('HGET', document, 'count') or 0), bytes
end
local function weigh(rows, bytes)
  redis.call('HINCRBY', about, generation .. ':rows', rows)
  redis.call('HINCRBY', about, generation .. ':bytes', bytes)
end
local function forget(document)
  local rows, bytes = size(document)
  redis.call('DEL', document)
  weigh(0 - rows, 0 - bytes)
end
"""

REPLACE: Final = (
    _OPEN
    + """
local info, count, dimension, vectors, chunks = ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8]
if count > 0 and dimension ~= redis.call('HGET', about, generation .. ':dimension') then
  return redis.error_reply('DIMENSION')
end
local version = changed(name)
forget(document)
if count > 0 then
  redis.call('HSET', document, 'version', version, 'count', count, 'vectors', vectors, 'chunks', chunks)
  weigh(size(document))
end
redis.call('HSET', infos, name, info)
return version
"""
)

REMOVE: Final = (
    _OPEN
    + """
if redis.call('HDEL', infos, name) == 0 then return 0 end
forget(document)
return changed(name)
"""
)

# The old name's end and the new name's beginning are two entries of the log, written in one step.
MOVE: Final = (
    _OPEN
    + """
local new_name, info = ARGV[4], ARGV[5]
local moved = base .. 'document:' .. new_name
if redis.call('HEXISTS', infos, name) == 0 then return 0 end
if new_name ~= name then
  redis.call('HDEL', infos, name)
  forget(moved)
  if redis.call('EXISTS', document) == 1 then redis.call('RENAME', document, moved) end
  changed(name)
end
redis.call('HSET', infos, new_name, info)
local version = changed(new_name)
if redis.call('EXISTS', moved) == 1 then redis.call('HSET', moved, 'version', version) end
return version
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
local live = redis.call('HGET', KEYS[1], 'live')
redis.call('HSET', KEYS[1], 'former', live, 'live', ARGV[1], 'layout', ARGV[2])
return redis.call('PUBLISH', string.sub(KEYS[1], 1, -6) .. 'changed', version)
"""
