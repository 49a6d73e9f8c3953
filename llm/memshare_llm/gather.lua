-- Takes a message together with those that wait for the same call, in one step, or has it wait.
-- keys: waiting
-- arguments: member, seen, first, now: number, wait: number, most: number, states, asking
-- `waiting` are those that wait, by when they came. `member` is the message, `seen` its state as it was read, `first`
-- since when it waits; `most` make a call; `states` begins a key of a state, and `asking` what is written there.
-- Returns when it may look again and nothing else, or nothing where another call has just taken it, or who is taken and
-- since when, itself first.
local function state(text) return states .. cjson.decode(text).journey end
if (redis.call('GET', state(member)) or '') ~= seen then return {} end
redis.call('ZADD', waiting, 'NX', first, member)
redis.call('EXPIRE', waiting, keep)
local since = redis.call('ZSCORE', waiting, member)
local left = tonumber(since) + wait - now
if redis.call('ZCARD', waiting) < most and left > 0 then return {tostring(left)} end
redis.call('ZREM', waiting, member)
local taken = redis.call('ZPOPMIN', waiting, most - 1)
table.insert(taken, 1, since)
table.insert(taken, 1, member)
for at = 1, #taken, 2 do redis.call('SET', state(taken[at]), asking .. taken[at + 1], 'EX', keep) end
return taken
