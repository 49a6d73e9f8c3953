-- Notes that a worker has taken a message off its queue: for kombu, which gives back what is not acknowledged, and for
-- the ledger, which misses it at once when the worker is killed.
-- arguments: tag, held, id, incarnation
-- `held` is what kombu keeps. A worker's clock may be off: that of Redis counts. A Redis that is full refuses a script
-- whose first write needs room, and not one that has begun to write: what is taken off its queue is noted all the same.
redis.call('HDEL', key.unacked, tag)
redis.call('ZADD', key.unacked_index, redis.call('TIME')[1], tag)
redis.call('HSET', key.unacked, tag, held)
if redis.call('HEXISTS', key.messages, id) == 1 then redis.call('HSET', key.incarnations, id, incarnation) end
