-- Counts a try that has failed.
-- More ARGV: reason.
-- Returns how often the message has failed, this time included, and the seconds since the first time.
local count, since = 1, now
local before = redis.call('HGET', key.failures, id)
if before then
  local sep = string.find(before, ' ')
  count, since = tonumber(string.sub(before, 1, sep - 1)) + 1, tonumber(string.sub(before, sep + 1))
end
redis.call('HSET', key.failures, id, count .. ' ' .. string.format('%.6f', since))
redis.call('HINCRBY', key.failed, ARGV[6], 1)
return {count, tostring(now - since)}
