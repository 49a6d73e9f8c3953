-- Count a writer no longer, and let the next one into the pool. Returns 0 where the writer had lost its lock.
local writers, lock = KEYS[1], KEYS[2]
local token = ARGV[1]

redis.call('ZREM', writers, token)
if not lock then return 1 end
if redis.call('GET', lock) ~= token then return 0 end
return redis.call('DEL', lock)
