-- Ends a journey before it is through: its message is struck off, unless a worker runs it at this moment. Then what it
-- does is recorded, and nothing follows.
-- More ARGV: why, as the journey shows it; the entry as the journey shows it, where it begins one; the owner of the
-- journey that it begins, or nothing; facts that are known for ever, as JSON, or nothing; '1' where the message is in
-- hand and not run; key, text and seconds to keep of the result that then stands, or nothing; what is counted.
-- Returns 'cancelled', 'running', or 'ended' where the message has ended meanwhile.
local why, shown, owner, facts, in_hand, result, text, seconds = unpack(ARGV, 6)
if in_hand == '' and redis.call('HEXISTS', key.messages, id) == 0 then return 'ended' end
if redis.call('HEXISTS', journey, stage) == 1 or is_anothers(owner) then return 'ended' end
if shown ~= '' then begin_journey(shown, owner) end
note('cancelled', why)
remember(facts)
if in_hand == '' and redis.call('HEXISTS', key.starts, id) == 1 then return 'running' end
strike()
tell(result, text, seconds)
count(14)
return 'cancelled'
