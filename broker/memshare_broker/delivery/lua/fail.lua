-- Counts a try that has failed; among those of its reason only where somebody was asked.
-- arguments: reason, counts: flag, is_paid: flag, asked: flag, last
-- `last` says of this try what is shown of the latest of its reason, as JSON, or is empty.
-- Returns how many tries of the message have failed, this one included, the seconds since the first one, and how many
-- were paid for.
local count, since, paid = 0, now, 0
local before = redis.call('HGET', key.failures, id)
if before then
  local first, second, third = string.match(before, '(%S+) (%S+) ?(%S*)')
  count, since, paid = tonumber(first), tonumber(second), tonumber(third) or 0
end
count, paid = count + (counts and 1 or 0), paid + (is_paid and 1 or 0)
redis.call('HSET', key.failures, id, count .. ' ' .. string.format('%.6f', since) .. ' ' .. paid)
if asked then redis.call('HINCRBY', key.failed, reason, 1) end
if asked and last ~= '' then redis.call('HSET', key.last_failed, reason, last) end
return {count, tostring(now - since), paid}
