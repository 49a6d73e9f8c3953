-- Ends a journey before it is through: its message is struck off, unless a worker runs it at this moment. Then what it
-- does is recorded, and nothing follows.
-- arguments: why, shown, owner, facts, in_hand: flag, told: list, counted: list
-- `shown` is the entry as the journey shows it, where it begins one, and `owner` that journey's; `facts` are known for
-- ever, as JSON, or empty; `in_hand` is a message that a worker has and does not run; `told` is empty, or key, text and
-- seconds to keep of the result that then stands.
-- Returns 'cancelled', 'running', or 'ended' where the message has ended meanwhile.
if not in_hand and redis.call('HEXISTS', key.messages, id) == 0 then return 'ended' end
if redis.call('HEXISTS', journey, stage) == 1 or is_anothers(owner) then return 'ended' end
if shown ~= '' then begin_journey(shown, owner) end
note('cancelled', why)
remember(facts)
if not in_hand and redis.call('HEXISTS', key.starts, id) == 1 then return 'running' end
strike()
tell(unpack(told))
count(counted)
return 'cancelled'
