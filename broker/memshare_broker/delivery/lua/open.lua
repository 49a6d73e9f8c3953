-- Writes a message down and publishes it, in one step: whoever asks may be ended at any moment.
-- arguments: entry, shown, limit: number, is_kept: flag, owner, list, message
-- `shown` is the entry as the journey shows it, where it begins one, and `owner` that journey's; `limit` is how many
-- messages of its queue may be open, 0 for any number; `is_kept` where it is known for ever what became of the journey;
-- `list` and `message` are kombu's, or empty where it is published otherwise.
-- Returns 'opened', 'open', 'ended', or 'full' with the number of open messages and of those that ended in a minute.
if redis.call('HEXISTS', journey, stage) == 1 or redis.call('HEXISTS', journey, 'dead') == 1 or is_cancelled()
  or redis.call('HEXISTS', key.dead, id) == 1 then return {'ended'} end
if redis.call('HEXISTS', key.messages, id) == 1 then return {'open'} end
if is_kept and redis.call('HEXISTS', key.kept, name) == 1 then return {'open'} end
local length = redis.call('ZCARD', open)
if limit > 0 and length >= limit then
  local minute = math.floor(now / 60)
  local last = redis.call('GET', key.pace .. queue .. ':' .. (minute - 1)) or 0
  local this = redis.call('GET', key.pace .. queue .. ':' .. minute) or 0
  return {'full', length, math.max(tonumber(last), tonumber(this))}
end
enter(queue, id, entry)
if shown ~= '' then begin_journey(shown, owner) end
if is_kept then redis.call('HSET', key.kept, name, '{}') end
if list ~= '' then redis.call('LPUSH', list, message) end
return {'opened'}
