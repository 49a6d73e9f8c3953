-- Writes all that a message changes, in one step; `updates_kept`, `evidence_kept` and `keep_fair` stand before it.
-- KEYS: fence, marker of the message, state, updates, lessons or held out, retrievers, version, versions,
-- blob of the version, evidence that waits, evidence that was learnt from, standings, their number, blobs to delete …
-- ARGV: fencing number, record, seconds to keep it, update, retriever, slot or '', lesson, lessons counted, outcome,
-- steps, checkpoint or '', version or '', its blob, standings, how many words of evidence, for each its field and text …,
-- versions to delete …
local fence, record, keep, update, retriever, slot, lesson, counted, outcome, steps, checkpoint, version, blob = unpack(ARGV)
local waiting, words, first_word = KEYS[10], KEYS[11], 16
local count = tonumber(ARGV[15])
local done = redis.call('GET', KEYS[2])
if done then return done end
if redis.call('GET', KEYS[1]) ~= fence then return '' end
redis.call('SET', KEYS[2], record, 'EX', keep)
redis.call('RPUSH', KEYS[4], update)
redis.call('LTRIM', KEYS[4], -updates_kept, -1)
redis.call('SADD', KEYS[6], retriever)
redis.call('HSET', KEYS[3], 'counted', counted, 'steps', steps)
redis.call('HINCRBY', KEYS[3], outcome, 1)
redis.call('HINCRBY', KEYS[3], 'updates', 1)
if slot ~= '' then redis.call('HSET', KEYS[5], slot, lesson) end
if checkpoint ~= '' then redis.call('HSET', KEYS[3], 'checkpoint', checkpoint, 'checkpoint_at', counted) end
redis.call('SET', KEYS[12], ARGV[14])
redis.call('INCR', KEYS[13])
for at = first_word, first_word + 2 * count - 1, 2 do
  local field, text = ARGV[at], ARGV[at + 1]
  redis.call('HSET', words, field, text)
  -- What the same person has said of it meanwhile goes on waiting.
  if redis.call('HGET', waiting, field) == text then redis.call('HDEL', waiting, field) end
end
keep_fair(words, evidence_kept)
if version ~= '' then
  redis.call('SET', KEYS[9], blob)
  redis.call('ZADD', KEYS[8], version, version)
  redis.call('SET', KEYS[7], version)
  redis.call('HSET', KEYS[3], 'issued', version)
  for key = 14, #KEYS do redis.call('DEL', KEYS[key]) end
  for old = first_word + 2 * count, #ARGV do redis.call('ZREM', KEYS[8], ARGV[old]) end
end
return record
