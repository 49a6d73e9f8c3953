-- Records what a message did, strikes it off, opens and publishes what follows, tells its result, acknowledges it and
-- counts, in one step.
-- More ARGV: delivery tag, or nothing; record; facts that are known for ever, as JSON, or nothing; key, text and
-- seconds to keep of the result, or nothing; the number of messages that follow, and of each: id, queue, entry, list
-- of kombu and text; then what is counted.
-- Returns 1 and nothing, or 0 and the record of the run that was first: then that stands, with what followed.
local tag, record, facts, result, text, seconds, following = unpack(ARGV, 6)
local after = 13
acknowledge(tag)
local done = redis.call('HGET', journey, stage)
if done then return {0, done} end
-- Another run of the message may have been given up before: what was done stands. Its death stays counted, as that of
-- a dead letter that is tried again.
if redis.call('HEXISTS', journey, 'dead') == 1 then unbury() end
note(stage, record, key.ended .. stage, moment())
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
return {1, ''}
