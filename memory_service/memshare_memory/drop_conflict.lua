-- Take memories out of the links of a pool.
-- keys: links
-- arguments: memories: list
-- `links` is a hash of the pool: memory → the others with which it was compared, each after its mark.
for _, gone in ipairs(memories) do
  for word in string.gmatch(redis.call('HGET', links, gone) or '', '%S+') do
    local other, left = string.sub(word, -36), {}
    for known in string.gmatch(redis.call('HGET', links, other) or '', '%S+') do
      if string.sub(known, -36) ~= gone then left[#left + 1] = known end
    end
    if #left > 0 then redis.call('HSET', links, other, table.concat(left, ' '))
    else redis.call('HDEL', links, other) end
  end
  redis.call('HDEL', links, gone)
end
