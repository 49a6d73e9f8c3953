-- Let words go from a hash (memory and person → word) until there are `most`: each of the person who has most there,
-- so that nobody's many words take the place of others'. Of one person's, some by chance.
local function keep_fair(key, most)
  local over = redis.call('HLEN', key) - most
  if over <= 0 then return end
  local words_of = {}
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local person = string.sub(field, 38)
    words_of[person] = words_of[person] or {}
    table.insert(words_of[person], field)
  end
  for _ = 1, over do
    local most_words
    for person, words in pairs(words_of) do
      if not most_words or #words > #words_of[most_words] then most_words = person end
    end
    local words = words_of[most_words]
    redis.call('HDEL', key, table.remove(words, math.random(#words)))
  end
end
