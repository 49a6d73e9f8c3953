-- Makes a pool the owner of this Redis for some seconds, keeps it so, also where Redis has lost its data, or ends that
-- at once, where these are 0. Returns nothing, or the record of another owner, and for how many seconds it is one.
-- arguments: record, in_place_of, seconds: number
-- Another record of the pool `in_place_of` may be replaced.

local current = redis.call('GET', owner)
if current and current ~= record and cjson.decode(current).pool ~= in_place_of then
  return {current, redis.call('TTL', owner)}
end
if seconds > 0 then redis.call('SET', owner, record, 'EX', seconds) else redis.call('DEL', owner) end
return false
