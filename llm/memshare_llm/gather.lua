-- Takes a message together with those that wait for the same call, in one step, or has it wait.
-- KEYS: those that wait, by when they came.
-- ARGV: the message, its state as it was read, since when it waits, now, how long, how many make a call,
-- what begins a key of a state, what is written there, seconds to keep it.
-- Returns when it may look again and nothing else, or nothing where another call has just taken it, or who is taken and
-- since when, itself first.
local member, seen, first, now, wait, most, states, asking, keep = unpack(ARGV)
local function state(text) return states .. cjson.decode(text).journey end
if (redis.call('GET', state(member)) or '') ~= seen then return {} end
redis.call('ZADD', KEYS[1], 'NX', first, member)
redis.call('EXPIRE', KEYS[1], keep)
local since = redis.call('ZSCORE', KEYS[1], member)
local left = tonumber(since) + tonumber(wait) - tonumber(now)
if redis.call('ZCARD', KEYS[1]) < tonumber(most) and left > 0 then return {tostring(left)} end
redis.call('ZREM', KEYS[1], member)
local taken = redis.call('ZPOPMIN', KEYS[1], tonumber(most) - 1)
table.insert(taken, 1, since)
table.insert(taken, 1, member)
for at = 1, #taken, 2 do redis.call('SET', state(taken[at]), asking .. taken[at + 1], 'EX', keep) end
return taken
