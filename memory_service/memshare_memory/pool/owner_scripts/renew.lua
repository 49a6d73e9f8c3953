-- Stay the owner, also of a Redis that has lost its data. Returns nothing, or the record of whoever is the owner now.
local owner = KEYS[1]
local record, seconds = ARGV[1], ARGV[2]

local current = redis.call('GET', owner)
if current and current ~= record then return current end
redis.call('SET', owner, record, 'EX', seconds)
return false
