-- Pops up to `most` messages whose time has come from those that wait beside their queues, and returns their entries.
-- arguments: most
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', key.parked, '-inf', now, 'LIMIT', 0, most)) do
  redis.call('ZREM', key.parked, id)
  redis.call('HDEL', key.why, id)
  local entry = redis.call('HGET', key.messages, id)
  local is_read, read = pcall(cjson.decode, entry or 'nothing')
  if is_read then
    local queue = read['queue']
    redis.call('ZADD', key.open .. queue, 'XX', now, id)
    redis.call('ZADD', key.since .. queue, 'NX', now, id)
    found[#found + 1] = entry
  end
end
return found
