-- Sets a message aside, beside its queue, until its time comes.
-- More ARGV: seconds; why, as JSON; what holds it back; '1' where its age goes on counting. If what holds it back was
-- lifted a moment ago, the message may have been looked at before: then it is looked at again at once.
local seconds, why, hold, ages = unpack(ARGV, 6)
redis.call('ZADD', open, 'XX', now + tonumber(seconds), id)
redis.call('HDEL', key.starts, id)
redis.call('HDEL', key.incarnations, id)
local lifted = redis.call('EXISTS', key.lifted .. hold) == 1
redis.call('ZADD', key.parked, lifted and now or now + tonumber(seconds), id)
redis.call('HSET', key.why, id, why)
if ages == '' then redis.call('ZREM', since, id) end
