-- Counts a try that has failed.
-- More ARGV: reason; 1 where the try counts, else 0; 1 where its reply was paid for, else 0.
-- Returns how many tries of the message have failed, this one included, the seconds since the first one, and how many
-- were paid for.
local count, since, paid = 0, now, 0
local before = redis.call('HGET', key.failures, id)
if before then
  local first, second, third = string.match(before, '(%S+) (%S+) ?(%S*)')
  count, since, paid = tonumber(first), tonumber(second), tonumber(third) or 0
end
count, paid = count + tonumber(ARGV[7]), paid + tonumber(ARGV[8])
redis.call('HSET', key.failures, id, count .. ' ' .. string.format('%.6f', since) .. ' ' .. paid)
redis.call('HINCRBY', key.failed, ARGV[6], 1)
return {count, tostring(now - since), paid}
