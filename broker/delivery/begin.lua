-- Renews a message that a worker starts on.
-- More ARGV: incarnation of the worker; the entry as the journey shows it, or any text, where a journey may begin with
-- it; the entry, or nothing.
-- Returns how often it was started without an end, this time included; or 0 and what it did, when it has ended; or -1
-- for a dead letter; or -2 where the message is not known: call again with its entry.
local incarnation, shown, entry = unpack(ARGV, 6)
local done = redis.call('HGET', journey, stage)
if done then
  strike()
  return {0, done}
end
if redis.call('HEXISTS', key.dead, id) == 1 then
  redis.call('HDEL', key.incarnations, id)
  unpark()
  return {-1, ''}
end
local opens = shown ~= '' and not has_begun()
if entry == '' and (opens or redis.call('HEXISTS', key.messages, id) == 0) then return {-2, ''} end
unpark()
enter(queue, id, entry)
if opens then begin_journey(shown) end
redis.call('HSET', key.incarnations, id, incarnation)
return {redis.call('HINCRBY', key.starts, id, 1), ''}
