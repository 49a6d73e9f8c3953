-- Subtract some of what a submitter's tasks gave to the memories of a pool, and forget that they gave it.
-- keys: arms, given, usual
-- arguments: fields: list
-- `fields` are of `given`, each a memory, or `kind` and a kind of task.

local function numbers_of(text)
  local numbers = {}
  for number in string.gmatch(text or '', '%S+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

local taken = 0
for _, field in ipairs(fields) do
  local key, name = arms, field
  if string.sub(field, 1, 5) == 'kind ' then key, name = usual, string.sub(field, 6) end
  local gave, has = redis.call('HGET', given, field), redis.call('HGET', key, name)
  if gave and has then
    local sums = numbers_of(has)
    for place, number in ipairs(numbers_of(gave)) do sums[place] = sums[place] - number end
    if sums[1] < 0.5 then redis.call('HDEL', key, name)
    else
      for place, number in ipairs(sums) do sums[place] = string.format('%.17g', number) end
      redis.call('HSET', key, name, table.concat(sums, ' '))
    end
    if key == arms then taken = taken + 1 end
  end
  redis.call('HDEL', given, field)
end
return taken
