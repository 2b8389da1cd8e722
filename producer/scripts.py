"""What must happen in Redis in one step, as Lua."""

from typing import Final

# Receipt and message together, or neither: a receipt without its message would wait for ever, a message without its
# receipt would look unknown. An id that is on its way or was answered is not sent again; one that ended without an
# answer is. The count is written first: a Redis that is full refuses a script's first write, and no later one.
#
# The receipt gets the message's number: whoever sends counts, so that nobody needs to read a queue, where others'
# questions lie, to know its place in it.
#
# KEYS receipt, result, cancel flag, queue, its count; ARGV now, receipt, seconds of the receipt, message.
SEND: Final = """
local receipt, meta = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
local status = meta and cjson.decode(meta).status
local over = status == 'FAILURE' or status == 'REVOKED' or redis.call('EXISTS', KEYS[3]) == 1
if receipt and not meta and cjson.decode(receipt).deadline < tonumber(ARGV[1]) then over = true end
if (receipt or meta) and not over then return 0 end
local number = redis.call('INCR', KEYS[5])
redis.call('SET', KEYS[1], string.sub(ARGV[2], 1, -2) .. ', "number": ' .. number .. '}', 'EX', ARGV[3])
redis.call('DEL', KEYS[2], KEYS[3])
redis.call('LPUSH', KEYS[4], ARGV[4])
return 1
"""

# KEYS receipt, result, cancel flag; ARGV what is published to wake those who wait.
# Returns 1 where no worker had begun, 0 where one had, or where the task is over or unknown.
CANCEL: Final = """
local left, meta = redis.call('TTL', KEYS[1]), redis.call('GET', KEYS[2])
local status = meta and cjson.decode(meta).status
if left < 0 or status == 'SUCCESS' or status == 'FAILURE' or status == 'REVOKED' then return 0 end
redis.call('SET', KEYS[3], '1', 'EX', left + 1)
redis.call('PUBLISH', KEYS[2], ARGV[1])
return meta and 0 or 1
"""
