"""What must happen in Redis in one step, as Lua.

A result's name comes among the arguments, not the keys: an app's user may read results, and may not name them as keys
of a script, which may write what it names.
"""

from typing import Final

# Receipt and message together, or neither: a receipt without its message would wait for ever, a message without its
# receipt would look unknown. An id that is on its way or was answered is not sent again; one that ended without an
# answer is. Of what is written, the counter comes first: a Redis that is full refuses a script's first write, and no
# later one. The receipt holds the message's number: so its place in the queue is known without reading the queue.
#
# KEYS receipt, cancel flag, counter, queue; ARGV result, now, receipt, seconds of the receipt, message.
SEND: Final = """
local receipt, meta = redis.call('GET', KEYS[1]), redis.call('GET', ARGV[1])
local status = meta and cjson.decode(meta).status
local over = status == 'FAILURE' or status == 'REVOKED' or redis.call('EXISTS', KEYS[2]) == 1
if receipt and not meta and cjson.decode(receipt).deadline < tonumber(ARGV[2]) then over = true end
if (receipt or meta) and not over then return 0 end
local number = redis.call('INCR', KEYS[3])
redis.call('SET', KEYS[1], string.sub(ARGV[3], 1, -2) .. ', "number": ' .. number .. '}', 'EX', ARGV[4])
redis.call('DEL', ARGV[1], KEYS[2])
redis.call('LPUSH', KEYS[4], ARGV[5])
return 1
"""

# KEYS receipt, cancel flag; ARGV result, what is published to wake those who wait.
# Returns 1 where no worker had begun, 0 where one had, or where the task is over or unknown.
CANCEL: Final = """
local left, meta = redis.call('TTL', KEYS[1]), redis.call('GET', ARGV[1])
local status = meta and cjson.decode(meta).status
if left < 0 or status == 'SUCCESS' or status == 'FAILURE' or status == 'REVOKED' then return 0 end
redis.call('SET', KEYS[2], '1', 'EX', left + 1)
redis.call('PUBLISH', ARGV[1], ARGV[2])
return meta and 0 or 1
"""
