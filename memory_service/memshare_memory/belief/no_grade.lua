-- Note once that chance decided on a task, which has no grade yet; or that it has one.
-- keys: counts, marker
-- arguments: seconds, field, is_graded: flag
-- The marker has the field in which the task counts, and nothing once it is graded.

if not is_graded then
  if redis.call('SET', marker, field, 'NX', 'EX', seconds) then redis.call('HINCRBY', counts, field, 1) end
  return
end
local noted = redis.call('GET', marker)
if noted and noted ~= '' then
  redis.call('SET', marker, '', 'KEEPTTL')
  redis.call('HINCRBY', counts, noted, -1)
end
