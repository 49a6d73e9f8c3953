-- Strikes a message off as a dead letter.
-- More ARGV: letter; the same as the journey shows it; reason, in one word; facts that are known for ever, as JSON, or nothing; what is counted.
-- Returns 0 when another run of the message was through before: that stands.
local letter, shown, reason, facts = unpack(ARGV, 6)
strike()
if redis.call('HEXISTS', journey, stage) == 1 then return 0 end
if redis.call('HSET', key.dead, id, letter) == 1 then count(10) end
redis.call('HSET', key.dead_reasons, id, reason)
note('dead', shown)
remember(facts)
return 1
