-- Records what a message did, strikes it off, opens and publishes what follows, tells its result, acknowledges it and
-- counts, in one step.
-- arguments: tag, record, details, keep_details, facts, told: list, following: list, counted: list
-- The delivery tag, the details and the facts, which are known for ever, as JSON, may be empty. `told` is empty, or
-- key, text and seconds to keep of the result. `following` has of each message its id, queue, entry, list of kombu and
-- text.
-- Returns 1, or 0, the record of the run that was first, and its details if there are any: then that stands, with what
-- followed.
acknowledge(tag)
local done = redis.call('HGET', journey, stage)
if done then return {0, done, redis.call('HGET', trace, stage)} end
-- Another run of the message may have been given up before: what was done stands. Its death stays counted, as that of
-- a dead letter that is tried again.
if redis.call('HEXISTS', journey, 'dead') == 1 then unbury() end
note(stage, record)
note_details(keep_details, key.ended .. stage, moment())
if details ~= '' then note_details(keep_details, stage, details) end
remember(facts)
redis.call('HINCRBY', key.done, stage, 1)
strike(true)
local is_over = is_cancelled()
for at = 1, #following, 5 do
  local next_id, next_queue, entry, list, message = unpack(following, at, at + 4)
  if not is_over then
    enter(next_queue, next_id, entry)
    redis.call('LPUSH', list, message)
  end
end
tell(unpack(told))
count(counted)
return {1}
