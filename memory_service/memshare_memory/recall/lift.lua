-- Count a graded task in the lift of its pool and of its memories, once for the task.
local sums, marker = unpack(KEYS)
local seconds, score, group = unpack(ARGV, 1, 3)
-- The group's first number is after so many others: 0 for what was shown, 3 for what was withheld. After these three
-- the fields to count the task in.

if not redis.call('SET', marker, '1', 'NX', 'EX', seconds) then return 0 end

local amounts = {1, tonumber(score), tonumber(score) ^ 2}
for at = 4, #ARGV do
  local numbers = {}
  for number in string.gmatch(redis.call('HGET', sums, ARGV[at]) or '0 0 0 0 0 0', '%S+') do
    numbers[#numbers + 1] = number
  end
  for place, amount in ipairs(amounts) do
    local of = place + tonumber(group)
    numbers[of] = string.format('%.17g', tonumber(numbers[of]) + amount)
  end
  redis.call('HSET', sums, ARGV[at], table.concat(numbers, ' '))
end
return 1
