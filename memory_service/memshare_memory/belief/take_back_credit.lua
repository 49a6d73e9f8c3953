-- Subtract what is left of some of what a submitter's tasks gave to the memories of a pool, and forget that they gave
-- it. `add` stands before.
-- keys: arms, given, usual
-- arguments: fields: list
-- `fields` are of `given`, each a memory, or `kind` and a kind of task.

local taken = 0
for _, field in ipairs(fields) do
  local key, name = arms, field
  if string.sub(field, 1, 5) == 'kind ' then key, name = usual, string.sub(field, 6) end
  local gave = redis.call('HGET', given, field)
  if gave and redis.call('HEXISTS', key, name) == 1 then
    add(key, name, gave, -1)
    if key == arms then taken = taken + 1 end
  end
  redis.call('HDEL', given, field)
end
return taken
