-- Writes all that a lesson changes, in one step; `updates_kept` stands before it.
-- KEYS: fence, marker of the message, state, updates, lessons or held out, retrievers, version, versions,
-- blob of the version, blobs to delete …
-- ARGV: fencing number, record, seconds to keep it, update, retriever, slot or '', lesson, lessons counted, outcome,
-- checkpoint or '', version or '', its blob, versions to delete …
local fence, record, keep, update, retriever, slot, lesson, counted, outcome, checkpoint, version, blob = unpack(ARGV)
local done = redis.call('GET', KEYS[2])
if done then return done end
if redis.call('GET', KEYS[1]) ~= fence then return '' end
redis.call('SET', KEYS[2], record, 'EX', keep)
redis.call('RPUSH', KEYS[4], update)
redis.call('LTRIM', KEYS[4], -updates_kept, -1)
redis.call('SADD', KEYS[6], retriever)
redis.call('HSET', KEYS[3], 'counted', counted)
redis.call('HINCRBY', KEYS[3], outcome, 1)
if slot ~= '' then redis.call('HSET', KEYS[5], slot, lesson) end
if checkpoint ~= '' then redis.call('HSET', KEYS[3], 'checkpoint', checkpoint, 'checkpoint_at', counted) end
if version ~= '' then
  redis.call('SET', KEYS[9], blob)
  redis.call('ZADD', KEYS[8], version, version)
  redis.call('SET', KEYS[7], version)
  redis.call('HSET', KEYS[3], 'issued', version)
  for key = 10, #KEYS do redis.call('DEL', KEYS[key]) end
  for old = 13, #ARGV do redis.call('ZREM', KEYS[8], ARGV[old]) end
end
return record
