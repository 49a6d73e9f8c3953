-- Opens and publishes messages that follow no other one; those that are open or have ended are passed over.
-- arguments: messages: list
-- `messages` has of each its id, queue, stage and journey, the entry, the list of kombu and the text.
for at = 1, #messages, 7 do
  local id, queue, stage, name, entry, list, message = unpack(messages, at, at + 6)
  local journey = key.journey .. name
  local ended = redis.call('HEXISTS', journey, stage) == 1 or redis.call('HEXISTS', journey, 'dead') == 1
    or redis.call('HEXISTS', journey, 'cancelled') == 1 or redis.call('HEXISTS', key.dead, id) == 1
  if not ended and redis.call('HEXISTS', key.messages, id) == 0 then
    enter(queue, id, entry)
    redis.call('LPUSH', list, message)
  end
end
