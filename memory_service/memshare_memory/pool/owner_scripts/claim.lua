-- Let a pool be the one of this Redis. Returns nothing, or the record of another pool that is, and for how many seconds.
local owner = KEYS[1]
local record, pool, seconds = ARGV[1], ARGV[2], ARGV[3]

local current = redis.call('GET', owner)
if current and cjson.decode(current).pool ~= pool then return {current, redis.call('TTL', owner)} end
redis.call('SET', owner, record, 'EX', seconds)
return false
