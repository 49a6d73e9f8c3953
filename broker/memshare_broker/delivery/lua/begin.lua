-- Renews a message that a worker starts on.
-- arguments: incarnation, shown, entry, owner
-- `shown` is the entry as the journey shows it, or any text, where a journey may begin with it, and `owner` that
-- journey's, or empty; `entry` may be empty.
-- Returns how often it was started without an end, this time included; or 0 and what it did, in two halves, when it has
-- ended; or -1 for a dead letter or a journey that was cancelled; or -2 where the message is not known: call again with
-- its entry; or -3 where another message has its id.
if is_anothers(owner) then return {-3} end
local done = redis.call('HGET', journey, stage)
if done then
  strike()
  return {0, done, redis.call('HGET', trace, stage)}
end
if is_cancelled() then
  strike()
  return {-1}
end
if is_dead() then
  redis.call('HDEL', key.incarnations, id)
  unpark()
  return {-1}
end
local opens = shown ~= '' and not has_begun()
if entry == '' and (opens or redis.call('HEXISTS', key.messages, id) == 0) then return {-2} end
unpark()
enter(queue, id, entry)
if opens then begin_journey(shown, owner) end
redis.call('HSET', key.incarnations, id, incarnation)
return {redis.call('HINCRBY', key.starts, id, 1)}
