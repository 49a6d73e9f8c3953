-- Count a graded task for the number of memories that it was shown, once: by how much its score is above the level of
-- its time.
-- keys: sums, marker
-- arguments: seconds, score: number, group: number, window: number, known: number, fields: list, levels: list
-- `fields` and `levels` are those of all kinds, then of the task's. The group's first number is after so many others. A
-- level has its number of tasks, `window` at most, and the mean of their scores less what the numbers shown then bring,
-- drawn towards that in all kinds as if it were known of so many tasks: else it would follow the number shown most.

if not redis.call('SET', marker, '1', 'NX', 'EX', seconds) then return 0 end

local function read(field, none)
  local found = {}
  for number in string.gmatch(redis.call('HGET', sums, field) or none, '%S+') do found[#found + 1] = tonumber(number) end
  return found
end

local function write(field, numbers)
  for place, number in ipairs(numbers) do numbers[place] = string.format('%.17g', number) end
  redis.call('HSET', sums, field, table.concat(numbers, ' '))
end

local rows, brought, mean, above = {}, 0, nil, 0
for place, field in ipairs(fields) do
  local row = read(field, '0 0 0 0 0 0')
  brought = (row[2] + row[5] + known * brought) / (row[1] + row[4] + known)
  -- A new kind begins with the level of all kinds, as if that were of four tasks.
  local level = read(levels[place], string.format('%d %.17g', mean and 4 or 0, mean or score))
  mean, above, rows[place] = level[2], score - level[2], row
  level[1] = math.min(level[1] + 1, window)
  level[2] = mean + (score - brought - mean) / level[1]
  write(levels[place], level)
end
for place, field in ipairs(fields) do
  local row = rows[place]
  for at, amount in ipairs({1, above, above ^ 2}) do row[group + at] = row[group + at] + amount end
  write(field, row)
end
return 1
