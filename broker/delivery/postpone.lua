-- Leaves a message alone until its next try: that is its next sign of life.
-- More ARGV: seconds.
redis.call('ZADD', open, 'XX', now + tonumber(ARGV[6]), id)
redis.call('HDEL', key.starts, id)
