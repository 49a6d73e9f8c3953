-- Notes how a call to a model's server ended, and learns from it how many the server can do at once.
-- keys: state, calls
-- arguments: rank, kind, id, worker, outcome, before: number, joined, pace: number, wait: number
-- `outcome` is 'fit', 'misfit', 'slow', 'refused' (too many), 'filtered' or 'declined' (by what they say), 'away',
-- 'broken', 'unauthorized', 'yielded' or 'other'; `before` how many calls there were when it began, `joined` how many
-- had begun beside others by then, `pace` the seconds that it took for a unit of work, 0 where that is not known; `wait`
-- those for which the model's rate limit holds, as it says: nobody asks it then, for up to `again`.
-- Returns 1 where the breaker was open and closes, else 0.
local DAY, MOST, SETTLES, SHARE, STEP, PROBE = 86400, 512, 10, 0.2, 0.25, 30
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
-- Others may have come and gone meanwhile.
local beside = math.max(before, redis.call('ZCARD', calls), redis.call('HGET', state, 'joined') == joined and 1 or 2)
local call = rank .. '\30' .. kind .. '\30' .. id
redis.call('ZREM', calls, call, call .. '\30' .. worker)

local model = string.match(kind, '^[^\31]*')
if wait > 0 then redis.call('HSET', state, 'limited ' .. model, now + math.min(wait, again)) end
-- How the model's last calls ended, the newest first, and when that did; one that gave way goes on later.
if outcome ~= 'yielded' then
  local last = {now, outcome}
  for one in string.gmatch(redis.call('HGET', ended, model) or '', '%a+') do
    if #last <= lately then last[#last + 1] = one end
  end
  redis.call('HSET', ended, model, table.concat(last, ' '))
  redis.call('EXPIRE', ended, DAY)
end
-- What nobody waits for, and is refused each time or takes too long even alone, is of no use either.
if ({filtered = 1, declined = 1})[outcome] then outcome = rank == '2' and 'misfit' or 'other' end
if ({away = 1, broken = 1, unauthorized = 1, yielded = 1})[outcome] then outcome = 'other' end

local known = redis.call('HGET', fitted, kind) or '0 0 0'
local misfits, retry_at, has_fitted = string.match(known, '(%S+) (%S+) (%S+)')
local closes = outcome == 'fit' and tonumber(misfits) >= most
if outcome == 'fit' and known ~= '0 0 1' then
  redis.call('HSET', fitted, kind, '0 0 1')
elseif outcome == 'misfit' or (outcome == 'slow' and rank == '2' and beside == 1) then
  misfits = misfits + 1
  redis.call('HSET', fitted, kind, misfits .. ' ' .. (misfits >= most and now + again or 0) .. ' ' .. has_fitted)
end
redis.call('EXPIRE', fitted, 7 * DAY)
-- One that gave way has not had its turn.
if rank == '2' and outcome ~= 'other' then redis.call('HDEL', state, 'held') end

-- Additive up, as long as more at once are done sooner than one after the other; down a step where they are not, and
-- halved by time-outs and refusals. How much longer each may take grows with how many are served at once: 1.6 times for
-- 2, 2.2 times for 4 to 20, 2.7 times for 64. A small model on two processors does four in 1.8 times the time of one.
local read = redis.call('HMGET', state, 'limit', 'alone', 'load', 'cut', 'since', 'probe')
local limit, alone, load, cut = tonumber(read[1] or 1), tonumber(read[2]), tonumber(read[3]), tonumber(read[4])
local since, probe = tonumber(read[5] or 0), read[6] == '1'
local ratio = 0
if outcome == 'slow' or outcome == 'refused' then
  if rank ~= '2' and beside > 1 and now - (cut or 0) >= SETTLES then limit, cut = math.max(1, limit / 2), now end
elseif pace > 0 then
  if beside == 1 then
    -- What is alone is seldom too fast. One that was made to be alone says how fast the server is by now.
    local share = pace < (alone or pace) and 2 * SHARE or SHARE / 2
    if probe then share, cut = 0.3, pace <= (alone or pace) * 1.5 and cut or nil end  -- a slower one begins anew
    alone = alone and (1 - share) * alone + share * pace or pace
    if limit < 2 or probe then load = nil end
  elseif alone then
    ratio = pace / (alone * (1 + math.max(0.4 * math.log(1 + beside), math.min(0.9 * math.log(beside), 1.2))))
    load = load and (1 - SHARE) * load + SHARE * ratio or ratio
  end
  if alone and beside >= math.floor(limit) then
    if (load or 0) > 1.2 then
      limit, cut = math.max(1, limit - math.max(STEP, limit / 25)), now
    elseif (load or 0) <= 1 and ratio <= 1 and outcome == 'fit' and before >= math.floor(limit) then
      -- It began among as many as there may be; before the first cut, half as many more are tried at once.
      limit = math.min(limit + (cut and 1 / limit or math.max(1, limit / 2)), MOST)
    end
  end
end
-- A server that does not get faster by fewer calls at once may have got slower by itself, and is never asked alone
-- while it is busy: so after some time one call is. It takes the time of two calls out of that of PROBE.
since = beside == 1 and 0 or since + 1
probe = beside > 1 and (probe or ((load or 0) > 1 and since >= PROBE * limit))
redis.call('SADD', servers, state)
redis.call('HSET', state, 'limit', limit, 'since', since, 'probe', probe and 1 or 0)
if load then redis.call('HSET', state, 'load', load) else redis.call('HDEL', state, 'load') end
if alone then redis.call('HSET', state, 'alone', alone) end
if cut then redis.call('HSET', state, 'cut', cut) else redis.call('HDEL', state, 'cut') end
redis.call('EXPIRE', state, DAY)
redis.call('EXPIRE', servers, DAY)
return closes and 1 or 0
