-- Strikes a message off as a dead letter.
-- arguments: letter, shown, reason, facts, owner, counted: list
-- `shown` is the letter as the journey shows it; `facts` are known for ever, as JSON, or empty; `owner` is of the
-- journey that it begins, or empty.
-- Returns 0 when another run of the message was through before, or the journey was cancelled: that stands; or -1 where
-- another message has its id.
if is_anothers(owner) then return -1 end
strike()
if redis.call('HEXISTS', journey, stage) == 1 or is_cancelled() then return 0 end
if redis.call('HSET', key.dead, id, letter) == 1 then count(counted) end
redis.call('HSET', key.dead_reasons, id, reason)
note('dead', shown)
remember(facts)
return 1
