-- Lets a call to a model's server begin, or says that it has to wait.
-- keys: state, calls, waiting
-- arguments: rank: number, kind, id, worker, seconds: number
-- The state of the server; its calls, by when they are given up; who waits for it, until when; what fitted, by kind.
-- Ranks are 0 for answers, 1 for grades, 2 for all else. A call may take `seconds`, and a waiting caller counts for
-- `counts_for`; `most` misfits in a row open the breaker, which lets one call try `again` seconds later.
-- Returns 1, how many calls there are now, 1 where it begins only as it was held back for long, else 0, and how many
-- calls have begun beside others so far; or 0; or -1 and the seconds until the breaker lets one try; or -2 and those
-- until the model is over its rate limit. A call of a worker that was killed ends when that is noticed: `there` are
-- those that are not.
local FIRST, FEW, QUIET, OVERDUE = 5, 4, 4, 600
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
redis.call('ZREMRANGEBYSCORE', calls, '-inf', now)
redis.call('ZREMRANGEBYSCORE', waiting, '-inf', now)

-- As the model answered to another call.
local limited = tonumber(redis.call('HGET', state, 'limited ' .. string.match(kind, '^[^\31]*')) or 0)
if limited > now then return {-2, tostring(limited - now)} end

local of_kind, in_background, total = 0, 0, 0
for _, call in ipairs(redis.call('ZRANGE', calls, 0, -1)) do
  local its_rank, its_kind, its_worker = string.match(call, '^(%d)\30([^\30]*)\30[^\30]*\30?(.*)$')
  if its_worker ~= '' and redis.call('SISMEMBER', there, its_worker) == 0 then
    redis.call('ZREM', calls, call)
  else
    total = total + 1
    if its_kind == kind then of_kind = of_kind + 1 end
    if its_rank == '2' then in_background = in_background + 1 end
  end
end

-- The breaker. As long as nothing of this kind has fitted, few try at once, and ever fewer the more misfits there are.
local known = redis.call('HGET', fitted, kind) or '0 0 0'
local misfits, retry_at, has_fitted = string.match(known, '(%S+) (%S+) (%S+)')
misfits = tonumber(misfits)
if misfits >= most and tonumber(retry_at) > now then return {-1, tostring(retry_at - now)} end
local together = math.max(1, most - misfits)
if has_fitted == '0' then together = math.min(together, FIRST) end

local better = false
for _, one in ipairs(redis.call('ZRANGE', waiting, 0, -1)) do
  better = better or tonumber(string.sub(one, 1, 1)) < rank
end
-- A server of which nothing is known gets a few at once: the first may take long.
local limit = math.max(1, math.floor(tonumber(redis.call('HGET', state, 'limit') or FEW)))
if redis.call('HGET', state, 'probe') == '1' then limit = 1 end  -- one alone says how fast it is by now
local free, overdue = total < limit, 0
if rank == 2 then
  -- What nobody waits for begins where little goes on; and one at a time after it was held back for long.
  redis.call('HSETNX', state, 'held', now)
  local held = tonumber(redis.call('HGET', state, 'held'))
  local quiet = total < math.max(1, math.floor(limit / QUIET)) and not better
  if free and in_background == 0 and now - held >= OVERDUE then overdue = 1 end
  free = quiet or overdue == 1
else
  free = free and not better
end

if free and (misfits == 0 and has_fitted == '1' or of_kind < together) then
  if misfits >= most then redis.call('HSET', fitted, kind, misfits .. ' ' .. now + again .. ' ' .. has_fitted) end
  redis.call('ZREM', waiting, rank .. id)
  local known_worker = redis.call('SISMEMBER', there, worker) == 1 and '\30' .. worker or ''
  redis.call('ZADD', calls, now + seconds, rank .. '\30' .. kind .. '\30' .. id .. known_worker)
  return {1, total + 1, overdue, redis.call('HINCRBY', state, 'joined', total > 0 and 1 or 0)}
end
if rank < 2 and not free then redis.call('ZADD', waiting, now + counts_for, rank .. id) end
return {0}
