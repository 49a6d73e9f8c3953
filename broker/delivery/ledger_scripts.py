"""The ledger's scripts: each is one atomic step in Redis."""

# KEYS: open set of the queue, messages, starts, dead letters, journey, queues
# ARGV: id, queue, stage, entry, days to keep in seconds
COMMON = """
local open, messages, starts, dead, journey, queues = unpack(KEYS)
local id, queue, stage, entry, keep = unpack(ARGV)
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local function enter(open, queue, id, entry)
  redis.call('SADD', queues, queue)
  redis.call('HSETNX', messages, id, entry)
  redis.call('ZADD', open, now, id)
  redis.call('ZADD', 'memshare:since:' .. queue, 'NX', now, id)
end
local function unpark()
  redis.call('ZREM', 'memshare:parked', id)
  redis.call('HDEL', 'memshare:parked:why', id)
end
local function strike()
  local was_open = redis.call('ZREM', open, id) == 1
  redis.call('ZREM', 'memshare:since:' .. queue, id)
  redis.call('HDEL', messages, id)
  redis.call('HDEL', starts, id)
  redis.call('HDEL', 'memshare:lives', id)
  redis.call('HDEL', 'memshare:failures', id)
  unpark()
  if not was_open then return end
  local pace = 'memshare:pace:' .. queue .. ':' .. math.floor(now / 60)
  redis.call('INCR', pace)
  redis.call('EXPIRE', pace, 180)
end
local function note(field, value)
  redis.call('HSET', journey, field, value)
  redis.call('EXPIRE', journey, keep)
end
-- What is counted stands in ARGV from this place on: field and amount, in turn. What Redis refuses to add is left out:
-- a script that ends in the middle takes nothing back, and the message that follows would never be opened.
local function count(first)
  for at = first, #ARGV, 2 do
    if ARGV[at + 1] == 'now' then
      redis.pcall('HSET', 'memshare:metrics', ARGV[at], tostring(now))
    else
      redis.pcall('HINCRBYFLOAT', 'memshare:metrics', ARGV[at], ARGV[at + 1])
    end
  end
end
local function begin_journey()
  local begins = stage == 'answer' or stage == 'question' or stage == 'score'
  if begins and redis.call('HEXISTS', journey, 'task') == 0 then
    note('task', entry)
    note('submitted', tostring(now))
  end
end
-- What is known for ever of a journey that was opened to be kept (broker/kept.py).
local kept, name = 'memshare:kept', string.sub(journey, string.len('memshare:journey:') + 1)
local function keep_facts(record, after)
  local known = stage ~= 'learn' and redis.call('HGET', kept, name)
  if not known then return end
  known, record = cjson.decode(known), cjson.decode(record)
  for _, fact in ipairs({'question', 'total', 'threshold', 'accepted', 'outcome', 'memory_id', 'error'}) do
    if record[fact] ~= nil and record[fact] ~= cjson.null then known[fact] = record[fact] end
  end
  if stage == 'answer' and after and (after == '' or cjson.decode(after)['stage'] ~= 'score') then
    known['outcome'] = 'not verified'
  end
  redis.call('HSET', kept, name, cjson.encode(known))
end
local function unbury()
  redis.call('HDEL', 'memshare:dead:reasons', id)
  redis.call('HDEL', journey, 'dead')
  local known = redis.call('HGET', kept, name)
  if known then
    known = cjson.decode(known)
    known['error'] = nil
    if known['outcome'] == 'dropped' then known['outcome'] = nil end
    redis.call('HSET', kept, name, cjson.encode(known))
  end
  redis.call('HDEL', dead, id)
end
"""
OPEN = """
if redis.call('HEXISTS', journey, stage) == 1 or redis.call('HEXISTS', journey, 'dead') == 1
  or redis.call('HEXISTS', dead, id) == 1 then return {'ended'} end
if redis.call('HEXISTS', messages, id) == 1 then return {'open'} end
if ARGV[7] == 'kept' and redis.call('HEXISTS', kept, name) == 1 then return {'open'} end
local length = redis.call('ZCARD', open)
if tonumber(ARGV[6]) > 0 and length >= tonumber(ARGV[6]) then
  local minute = math.floor(now / 60)
  local last = redis.call('GET', 'memshare:pace:' .. queue .. ':' .. (minute - 1)) or 0
  local this = redis.call('GET', 'memshare:pace:' .. queue .. ':' .. minute) or 0
  return {'full', length, math.max(tonumber(last), tonumber(this))}
end
enter(open, queue, id, entry)
begin_journey()
if ARGV[7] == 'kept' then redis.call('HSET', kept, name, '{}') end
return {'opened'}
"""
BEGIN = """
redis.call('HDEL', 'memshare:lives', id)
unpark()
local done = redis.call('HGET', journey, stage)
if done then
  strike()
  return {0, done}
end
if redis.call('HEXISTS', dead, id) == 1 then return {-1, ''} end
enter(open, queue, id, entry)
begin_journey()
redis.call('HSET', 'memshare:lives', id, ARGV[6])
return {redis.call('HINCRBY', starts, id, 1), ''}
"""
# KEYS: messages, lives. ARGV: id, life
HOLD = "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end"
# More ARGV: record; for the next message: id, queue, entry; for the result: key, text, seconds to keep; what is
# counted.
# More KEYS: open set of the next queue.
COMMIT = """
local record, next_id, next_queue, next_entry, result, text, seconds = unpack(ARGV, 6)
local done = redis.call('HGET', journey, stage)
if done then return done end
-- Another run of the message may have been given up before: what was done stands. Its death stays counted, as that of
-- a dead letter that is tried again.
if redis.call('HEXISTS', journey, 'dead') == 1 then unbury() end
note(stage, record)
keep_facts(record, next_entry)
redis.call('HINCRBY', 'memshare:done', stage, 1)
count(13)
strike()
if next_id ~= '' then enter(KEYS[7], next_queue, next_id, next_entry) end
if result ~= '' then
  redis.call('SET', result, text)
  if tonumber(seconds) > 0 then redis.call('EXPIRE', result, seconds) end
  redis.call('PUBLISH', result, text)
end
return false
"""
POSTPONE = """
redis.call('ZADD', open, 'XX', now + tonumber(ARGV[6]), id)
redis.call('HDEL', starts, id)
"""
# More ARGV: why, as JSON with the time until which the message waits left out; what holds it back. If that was lifted
# a moment ago, it may have been looked at before: then it is looked at again at once.
PARK = (
    POSTPONE
    + """
redis.call('HDEL', 'memshare:lives', id)
local lifted = redis.call('EXISTS', 'memshare:lifted:' .. ARGV[8]) == 1
redis.call('ZADD', 'memshare:parked', lifted and now or now + tonumber(ARGV[6]), id)
redis.call('HSET', 'memshare:parked:why', id, ARGV[7])
redis.call('ZREM', 'memshare:since:' .. queue, id)
"""
)
# KEYS: parked, why, messages. ARGV: how many at most. Returns the entries of those whose time has come.
RELEASE = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  local entry = redis.call('HGET', KEYS[3], id)
  if entry then
    local queue = cjson.decode(entry)['queue']
    redis.call('ZADD', 'memshare:open:' .. queue, 'XX', now, id)
    redis.call('ZADD', 'memshare:since:' .. queue, now, id)
    found[#found + 1] = entry
  end
end
return found
"""
# More ARGV: why. Returns how often the message has failed, this time included, and for how many seconds.
FAIL = """
local count, since = 1, now
local before = redis.call('HGET', 'memshare:failures', id)
if before then
  local sep = string.find(before, ' ')
  count, since = tonumber(string.sub(before, 1, sep - 1)) + 1, tonumber(string.sub(before, sep + 1))
end
redis.call('HSET', 'memshare:failures', id, count .. ' ' .. string.format('%.6f', since))
redis.call('HINCRBY', 'memshare:failed', ARGV[6], 1)
return {count, tostring(now - since)}
"""
# More ARGV: letter, reason, what is counted. Returns 0 when another run of the message was through before: that stands.
BURY = """
strike()
if redis.call('HEXISTS', journey, stage) == 1 then return 0 end
if redis.call('HSET', dead, id, ARGV[6]) == 1 then count(8) end
redis.call('HSET', 'memshare:dead:reasons', id, ARGV[7])
note('dead', ARGV[6])
keep_facts(ARGV[6])
return 1
"""
REVIVE = """
if redis.call('HEXISTS', dead, id) == 0 then return 0 end
unbury()
enter(open, queue, id, entry)
return 1
"""
