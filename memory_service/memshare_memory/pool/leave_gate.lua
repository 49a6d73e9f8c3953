-- Count a writer no longer, and let the next one into the pool. Returns 0 where the writer had lost its lock.
-- arguments: lock, token

redis.call('ZREM', writers, token)
if lock == '' then return 1 end
if redis.call('GET', lock) ~= token then return 0 end
return redis.call('DEL', lock)
