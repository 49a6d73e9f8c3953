-- Keep the gate closed for whoever closed it. Returns false where it was opened meanwhile.
local closed = KEYS[1]
local token, seconds = ARGV[1], ARGV[2]

return redis.call('GET', closed) == token and redis.call('EXPIRE', closed, seconds)
