-- Take memories out of the links of a pool.
-- KEYS[1]: hash of the pool: memory → the others with which it was compared, each after its mark.
-- ARGV: the memories.
for _, gone in ipairs(ARGV) do
  for word in string.gmatch(redis.call('HGET', KEYS[1], gone) or '', '%S+') do
    local other, left = string.sub(word, -36), {}
    for known in string.gmatch(redis.call('HGET', KEYS[1], other) or '', '%S+') do
      if string.sub(known, -36) ~= gone then left[#left + 1] = known end
    end
    if #left > 0 then redis.call('HSET', KEYS[1], other, table.concat(left, ' '))
    else redis.call('HDEL', KEYS[1], other) end
  end
  redis.call('HDEL', KEYS[1], gone)
end
