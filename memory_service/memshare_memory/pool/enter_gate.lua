-- Count a writer, who may ask to be alone in a pool, and say which encoder is in use.
-- arguments: lock, token, lock_seconds
-- `lock` is the key of the pool's lock, or empty for a writer that need not be alone.
-- Returns {'entered', encoder or nothing}, {'closed'} or {'busy'}.

if redis.call('EXISTS', closed) == 1 then return {'closed'} end
-- It is the writer's own where a lost connection made it ask again.
if lock ~= '' and redis.call('GET', lock) ~= token
  and not redis.call('SET', lock, token, 'NX', 'EX', lock_seconds) then
  return {'busy'}
end
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
redis.call('ZREMRANGEBYSCORE', writers, '-inf', now)
redis.call('ZADD', writers, now + longest_write, token)
return {'entered', redis.call('GET', encoder)}
