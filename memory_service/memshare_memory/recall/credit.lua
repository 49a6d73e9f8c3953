-- Credit the memories of one pool that a task was shown, once for the task: the sums of each, in its arm and in what
-- this submitter's tasks gave it; count the task's score in what is usual for its kind; let its evidence wait.
-- Returns how much waits, and how much of that is new: 0 and 0 for a task that has credited. `keep_fair` stands before.
local arms, marker, given, index, usual, waiting, last_words = unpack(KEYS)
local seconds, width, member, kind, score, replaces, said = unpack(ARGV, 1, 7)
local first_word = 8
local first_credit = first_word + 2 * tonumber(said)
-- After these so many words of evidence, each with its field, and for each credit the memory and what is added to each
-- of its numbers. `score` is empty where nothing was graded; with `replaces` = 1 a credit is this submitter's word about
-- the memory, in place of their last one.
local most_waiting = 1000

if not redis.call('SET', marker, '1', 'NX', 'EX', seconds) then return {0, 0} end

local function numbers_of(text)
  local numbers = {}
  for number in string.gmatch(text or '', '%S+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

local function add(key, field, numbers, sign)
  local sums = numbers_of(redis.call('HGET', key, field))
  for place, number in ipairs(numbers) do
    sums[place] = string.format('%.17g', (sums[place] or 0) + (sign or 1) * number)
  end
  redis.call('HSET', key, field, table.concat(sums, ' '))
end

if score ~= '' then
  add(usual, kind, {1, tonumber(score)})
  add(given, 'kind ' .. kind, {1, tonumber(score)})
end
width = tonumber(width)
for first = first_credit, #ARGV, width + 1 do
  local memory, text = ARGV[first], table.concat(ARGV, ' ', first + 1, first + width)
  if replaces == '1' then
    local before = numbers_of(redis.call('HGET', last_words, memory))
    add(arms, memory, before, -1)
    add(given, memory, before, -1)
    redis.call('HSET', last_words, memory, text)
  end
  add(arms, memory, numbers_of(text))
  add(given, memory, numbers_of(text))
end
if score ~= '' or #ARGV >= first_credit then redis.call('SADD', index, member) end
local new = 0
for at = first_word, first_credit - 1, 2 do new = new + redis.call('HSET', waiting, ARGV[at], ARGV[at + 1]) end
keep_fair(waiting, most_waiting)
return {redis.call('HLEN', waiting), new}
