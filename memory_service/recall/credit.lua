-- Credit the memories of one pool that a task was shown, once for the task: the sums of each, in its arm and in what
-- this submitter's tasks gave it; count the task's score in what is usual for its kind, and what the memories earned in
-- the balance of own and foreign ones.
local arms, marker, given, index, usual, balance = unpack(KEYS)
local seconds, width, member, kind, score, sides = unpack(ARGV, 1, 6)
local first_credit = 7 + tonumber(sides)
-- After these so many fields and amounts of the balance, in turn; then for each credit the memory and what is added to
-- each of its numbers. `score` is empty where nothing was graded.

if not redis.call('SET', marker, '1', 'NX', 'EX', seconds) then return 0 end

local function add(key, field, numbers)
  local sums = {}
  for number in string.gmatch(redis.call('HGET', key, field) or '', '%S+') do sums[#sums + 1] = number end
  for place, number in ipairs(numbers) do
    sums[place] = string.format('%.17g', tonumber(sums[place] or '0') + tonumber(number))
  end
  redis.call('HSET', key, field, table.concat(sums, ' '))
end

if score ~= '' then
  add(usual, kind, {'1', score})
  add(given, 'kind ' .. kind, {'1', score})
end
width = tonumber(width)
for first = first_credit, #ARGV, width + 1 do
  local numbers = {unpack(ARGV, first + 1, first + width)}
  add(arms, ARGV[first], numbers)
  add(given, ARGV[first], numbers)
end
for at = 7, first_credit - 1, 2 do redis.call('HINCRBYFLOAT', balance, ARGV[at], ARGV[at + 1]) end
if score ~= '' or #ARGV >= first_credit then redis.call('SADD', index, member) end
return 1
