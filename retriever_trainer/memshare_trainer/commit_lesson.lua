-- Writes all that a message changes, in one step; `updates_kept`, `evidence_kept` and `keep_fair` stand before it.
-- keys: fence, marker, state, updates, kept, retrievers, current, versions, blob, waiting, words, standings,
--   standings_number
-- arguments: number, record, keep, update, retriever, slot, lesson, counted, outcome, steps, checkpoint, version,
--   adapter, standing, evidence: list, outdated: list, blobs: list
-- `kept` are the lessons or those held out, and `waiting` the evidence that nobody has learnt from. `number` is the
-- fencing number; slot, checkpoint and version may be empty; `evidence` has field and text of each word, in turn;
-- `outdated` are versions to delete, and `blobs` their keys.
local done = redis.call('GET', marker)
if done then return done end
if redis.call('GET', fence) ~= number then return '' end
redis.call('SET', marker, record, 'EX', keep)
redis.call('RPUSH', updates, update)
redis.call('LTRIM', updates, -updates_kept, -1)
redis.call('SADD', retrievers, retriever)
redis.call('HSET', state, 'counted', counted, 'steps', steps)
redis.call('HINCRBY', state, outcome, 1)
redis.call('HINCRBY', state, 'updates', 1)
if slot ~= '' then redis.call('HSET', kept, slot, lesson) end
if checkpoint ~= '' then redis.call('HSET', state, 'checkpoint', checkpoint, 'checkpoint_at', counted) end
redis.call('SET', standings, standing)
redis.call('INCR', standings_number)
for at = 1, #evidence, 2 do
  local field, text = evidence[at], evidence[at + 1]
  redis.call('HSET', words, field, text)
  -- What the same person has said of it meanwhile goes on waiting.
  if redis.call('HGET', waiting, field) == text then redis.call('HDEL', waiting, field) end
end
keep_fair(words, evidence_kept)
if version ~= '' then
  redis.call('SET', blob, adapter)
  redis.call('ZADD', versions, version, version)
  redis.call('SET', current, version)
  redis.call('HSET', state, 'issued', version)
  for at, old in ipairs(outdated) do
    redis.call('DEL', blobs[at])
    redis.call('ZREM', versions, old)
  end
end
return record
