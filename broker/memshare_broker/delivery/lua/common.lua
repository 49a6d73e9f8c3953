-- What most scripts begin with: which message they are about, and the steps they share. `key` is the table of keys.
-- arguments: id, queue, stage, name, keep, agent
-- `name` is the message's journey, whose records are kept for `keep` seconds; `agent` is whose it is if it begins one.
local journey, trace = key.journey .. name, key.trace .. name
local open, since = key.open .. queue, key.since .. queue
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6

-- The time as the journey shows it: Unix time in seconds.
local function moment()
  return string.format('%.6f', now)
end

-- Writes a message down as open. One that is open already only shows a sign of life.
local function enter(queue, id, entry)
  redis.call('SADD', key.queues, queue)
  redis.call('HSETNX', key.messages, id, entry)
  redis.call('ZADD', key.open .. queue, now, id)
  redis.call('ZADD', key.since .. queue, 'NX', now, id)
end

local function unpark()
  if redis.call('ZREM', key.parked, id) == 1 then redis.call('HDEL', key.why, id) end
end

-- Forgets a message that has ended, and was done or not.
local function strike(done)
  local was_open = redis.call('ZREM', open, id) == 1
  redis.call('ZREM', since, id)
  redis.call('HDEL', key.messages, id)
  redis.call('HDEL', key.starts, id)
  redis.call('HDEL', key.incarnations, id)
  redis.call('HDEL', key.failures, id)
  unpark()
  if not was_open then return end
  for _, of in ipairs(done and {'', 'done:'} or {''}) do
    local pace = key.pace .. of .. queue .. ':' .. math.floor(now / 60)
    if redis.call('INCR', pace) == 1 then redis.call('EXPIRE', pace, 180) end
  end
end

-- Takes a message off what kombu remembers as held by a worker.
local function acknowledge(tag)
  if tag == '' then return end
  redis.call('ZREM', key.unacked_index, tag)
  redis.call('HDEL', key.unacked, tag)
end

-- Stores a result as Celery does, and tells who waits for it.
local function tell(result, text, seconds)
  if not result then return end
  redis.call('SET', result, text)
  if tonumber(seconds) > 0 then redis.call('EXPIRE', result, seconds) end
  redis.call('PUBLISH', result, text)
end

-- Field and value, in turn, of what is known of the journey.
local function note(...)
  redis.call('HSET', journey, ...)
  redis.call('EXPIRE', journey, keep)
end

-- Field and value, in turn, of the details of the journey, which are kept for so many seconds.
local function note_details(seconds, ...)
  redis.call('HSET', trace, ...)
  redis.call('EXPIRE', trace, seconds)
end

-- Adds to the metrics: field and amount, in turn. What Redis refuses to add is left out: a script that ends in the
-- middle takes nothing back, and the message that follows would never be opened.
local function count(samples)
  for at = 1, #samples, 2 do
    if samples[at + 1] == 'now' then
      redis.pcall('HSET', key.metrics, samples[at], tostring(now))
    else
      redis.pcall('HINCRBYFLOAT', key.metrics, samples[at], samples[at + 1])
    end
  end
end

-- Whether somebody has ended the journey: none of its messages is begun any more, and none follows.
local function is_cancelled()
  return redis.call('HEXISTS', journey, 'cancelled') == 1
end

local function has_begun()
  return redis.call('HEXISTS', journey, 'task') == 1
end

local function begin_journey(shown, owner)
  if has_begun() then return end
  note('task', shown, 'submitted', moment())
  for _, list in ipairs({key.recent, key.recent .. ':' .. agent}) do
    redis.call('ZADD', list, moment(), name)
    redis.call('ZREMRANGEBYRANK', list, 0, -1001)
    redis.call('EXPIRE', list, keep)
  end
  if owner ~= '' then note('owner', '"' .. owner .. '"') end
end

-- Whether a message that begins a journey came under the id of another message, open or ended. `owner` tells what it
-- says; it is empty for messages that begin none, which are signed and cannot have another's id.
local function is_anothers(owner)
  if owner == '' then return false end
  local known = redis.call('HGET', journey, 'owner')
  if known then return known ~= '"' .. owner .. '"' end
  local entry = redis.call('HGET', key.messages, id)
  if not entry then return false end
  entry = cjson.decode(entry)
  return entry.journey ~= name or entry.stage ~= stage
end

-- Whether the message is a dead letter, and not only another one that had taken its id.
local function is_dead()
  local letter = redis.call('HGET', key.dead, id)
  if not letter then return false end
  local read, it = pcall(cjson.decode, letter)
  return not read or not it.entry or it.entry.journey == name
end

-- Adds facts, as JSON, to what is known for ever of a journey that was opened to be kept.
local function remember(facts)
  if facts == '' then return end
  local known = redis.call('HGET', key.kept, name)
  if not known then return end
  known = cjson.decode(known)
  for fact, value in pairs(cjson.decode(facts)) do known[fact] = value end
  redis.call('HSET', key.kept, name, cjson.encode(known))
end

-- Takes back that a message is a dead letter.
local function unbury()
  redis.call('HDEL', key.dead, id)
  redis.call('HDEL', key.dead_reasons, id)
  redis.call('HDEL', journey, 'dead')
  local known = redis.call('HGET', key.kept, name)
  if not known then return end
  known = cjson.decode(known)
  known['error'] = nil
  if known['outcome'] == 'dropped' then known['outcome'] = nil end
  redis.call('HSET', key.kept, name, cjson.encode(known))
end
