-- Sets a message aside, beside its queue, until its time comes.
-- arguments: seconds: number, why, hold, ages: flag
-- `why` is JSON; one that `ages` goes on counting its age. If what holds it back was lifted a moment ago, the message
-- may have been looked at before: then it is looked at again at once.
redis.call('ZADD', open, 'XX', now + seconds, id)
redis.call('HDEL', key.starts, id)
redis.call('HDEL', key.incarnations, id)
local lifted = redis.call('EXISTS', key.lifted .. hold) == 1
redis.call('ZADD', key.parked, lifted and now or now + seconds, id)
redis.call('HSET', key.why, id, why)
if not ages then redis.call('ZREM', since, id) end
