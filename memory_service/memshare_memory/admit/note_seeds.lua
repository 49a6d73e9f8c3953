-- Note the scores of seeds, and keep the mean of their pool. Noting the same twice is noting it once.
-- Returns 0, and notes nothing, where the seeds of the pool are not known yet and `is_all` does not say that these are.
-- keys: scores
-- arguments: pool, is_all: flag, seeds: list
-- `seeds` has a memory and its score, in turn; the score is empty for one that is no seed any more.

if is_all then
  redis.call('DEL', scores)
  redis.call('HDEL', sums, pool)
elseif redis.call('EXISTS', scores) == 0 then
  return 0
end
local sum = tonumber(redis.call('HGET', sums, pool) or '0')
for place = 1, #seeds, 2 do
  local memory, score = seeds[place], seeds[place + 1]
  sum = sum - tonumber(redis.call('HGET', scores, memory) or '0')
  if score == '' then
    redis.call('HDEL', scores, memory)
  else
    sum = sum + tonumber(score)
    redis.call('HSET', scores, memory, score)
  end
end
local count = redis.call('HLEN', scores)
if count == 0 then
  redis.call('HDEL', sums, pool)
  redis.call('HDEL', means, pool)
else
  redis.call('HSET', sums, pool, string.format('%.17g', sum))
  redis.call('HSET', means, pool, string.format('%.17g', sum / count))
end
return 1
