-- Count a graded task in the lift of its pool and of its memories, once for the task.
-- keys: sums, marker, pools
-- arguments: seconds, pool, score: number, group: number, fields: list
-- The group's first number is after so many others: 0 for what was shown, 3 for what was withheld. The task is counted
-- in each of the fields. Its pool, where one is named, is one of the pools.

if pool ~= '' then redis.call('SADD', pools, pool) end
if not redis.call('SET', marker, '1', 'NX', 'EX', seconds) then return 0 end

local amounts = {1, score, score ^ 2}
for _, field in ipairs(fields) do
  local numbers = {}
  for number in string.gmatch(redis.call('HGET', sums, field) or '0 0 0 0 0 0', '%S+') do
    numbers[#numbers + 1] = number
  end
  for place, amount in ipairs(amounts) do
    local of = place + group
    numbers[of] = string.format('%.17g', tonumber(numbers[of]) + amount)
  end
  redis.call('HSET', sums, field, table.concat(numbers, ' '))
end
return 1
