-- How many write now; one that was killed is not counted for longer than a write may take.
local writers = KEYS[1]

local time = redis.call('TIME')
return redis.call('ZCOUNT', writers, time[1] + time[2] / 1e6, '+inf')
