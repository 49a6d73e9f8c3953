-- Records what a message did, strikes it off, opens and publishes what follows, tells its result, acknowledges it and
-- counts, in one step.
-- More ARGV: delivery tag, or nothing; record; its details, or nothing, and seconds to keep them; facts that are known for ever, as JSON, or nothing; key, text and
-- seconds to keep of the result, or nothing; the number of messages that follow, and of each: id, queue, entry, list
-- of kombu and text; then what is counted.
-- Returns 1, or 0, the record of the run that was first, and its details if there are any: then that stands, with what followed.
local tag, record, details, keep_details, facts, result, text, seconds, following = unpack(ARGV, 6)
local after = 15
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
strike()
local is_over = is_cancelled()
for _ = 1, tonumber(following) do
  local next_id, next_queue, entry, list, message = unpack(ARGV, after, after + 4)
  if not is_over then
    enter(next_queue, next_id, entry)
    redis.call('LPUSH', list, message)
  end
  after = after + 5
end
tell(result, text, seconds)
count(after)
return {1}
