-- Credit the memories of one pool that a task was shown, once for the task: the sums of each, in its arm and in what
-- this submitter's tasks gave it; count the task's score in what is usual for its kind; let its evidence wait.
-- Returns how much waits, and how much of that is new: 0 and 0 for a task that has credited. Before it stand `add` and
-- `keep_fair`.
-- keys: arms, marker, given, usual, waiting, last_words
-- arguments: seconds, member, kind, score, replaces: flag, credits: list, evidence: list
-- `credits` has of each the memory and what is added to its numbers, `evidence` of each word its field and its text.
-- `score` is empty where nothing was graded; what `replaces` is this submitter's word, in place of their last one.
local most_waiting = 1000

if not redis.call('SET', marker, '1', 'NX', 'EX', seconds) then return {0, 0} end

if score ~= '' then
  add(usual, kind, '1 ' .. score)
  add(given, 'kind ' .. kind, '1 ' .. score)
end
for at = 1, #credits, 2 do
  local memory, text = credits[at], credits[at + 1]
  if replaces then
    local before = redis.call('HGET', last_words, memory)
    add(arms, memory, before, -1)
    add(given, memory, before, -1)
    redis.call('HSET', last_words, memory, text)
  end
  add(arms, memory, text)
  add(given, memory, text)
end
if score ~= '' or #credits > 0 then redis.call('SADD', index, member) end
local new = 0
for at = 1, #evidence, 2 do new = new + redis.call('HSET', waiting, evidence[at], evidence[at + 1]) end
keep_fair(waiting, most_waiting)
return {redis.call('HLEN', waiting), new}
