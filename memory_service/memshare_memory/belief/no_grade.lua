-- Note once that a task on which chance decided ended without a grade; or that it has one.
-- keys: counts, marker
-- arguments: seconds, field, is_graded: flag
-- The marker has the field in which the task counts, and nothing once it is graded.

if not is_graded then
  if redis.call('SET', marker, field, 'NX', 'EX', seconds) then redis.call('HINCRBY', counts, field, 1) end
  return
end
local noted = redis.call('GET', marker)
redis.call('SET', marker, '', 'EX', seconds)
if noted and noted ~= '' then redis.call('HINCRBY', counts, noted, -1) end
