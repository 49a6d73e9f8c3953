-- Add to sums in a hash, to stand before a script that does: what is left of those of an arm, and usual scores as they
-- are. Of an arm all numbers fade but the first, which counts its credits, and the last, the day on which it was so.
-- arguments: today: number, half_life: number
-- Days are counted since 1970, the half-life is in days; one of 0 has no end.
local function faded(text)
  local numbers = {}
  for number in string.gmatch(text or '', '%S+') do numbers[#numbers + 1] = tonumber(number) end
  if #numbers < size - 2 then return numbers end
  numbers[size - 1] = numbers[size - 1] or numbers[1]
  local days = math.max(today - (numbers[size] or since), 0)
  local left = half_life > 0 and 0.5 ^ (days / half_life) or 1
  for place = 2, size - 1 do numbers[place] = numbers[place] * left end
  numbers[size] = today
  return numbers
end

local function add(key, field, text, sign)
  local sums = faded(redis.call('HGET', key, field))
  for place, number in ipairs(faded(text)) do
    sums[place] = place == size and number or (sums[place] or 0) + (sign or 1) * number
  end
  if (sums[1] or 0) < 0.5 then return redis.call('HDEL', key, field) end
  for place, number in ipairs(sums) do sums[place] = string.format('%.17g', number) end
  redis.call('HSET', key, field, table.concat(sums, ' '))
end
