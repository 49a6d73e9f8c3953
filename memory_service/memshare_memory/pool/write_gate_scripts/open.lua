-- Open the gate, if it is still this one that has closed it.
local closed = KEYS[1]
local token = ARGV[1]

if redis.call('GET', closed) == token then redis.call('DEL', closed) end
