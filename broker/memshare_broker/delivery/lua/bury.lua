-- Strikes a message off as a dead letter.
-- More ARGV: letter; the same as the journey shows it; reason, in one word; facts that are known for ever, as JSON, or
-- nothing; the owner of the journey that it begins, or nothing; what is counted.
-- Returns 0 when another run of the message was through before, or the journey was cancelled: that stands; or -1 where another message has its id.
local letter, shown, reason, facts, owner = unpack(ARGV, 6)
if is_anothers(owner) then return -1 end
strike()
if redis.call('HEXISTS', journey, stage) == 1 or is_cancelled() then return 0 end
if redis.call('HSET', key.dead, id, letter) == 1 then count(11) end
redis.call('HSET', key.dead_reasons, id, reason)
note('dead', shown)
remember(facts)
return 1
