-- Be the owner no longer, if it is still this one.
local owner = KEYS[1]
local record = ARGV[1]

if redis.call('GET', owner) == record then redis.call('DEL', owner) end
