-- Note what is known of two memories, at each of them.
-- keys: links
-- arguments: memories: list, marks: list, takes_back: flag
-- `links` is a hash of the pool: memory → the others with which it was compared, each after its mark. Marks at each of
-- the two: - both may be true, + they contradict each other; a person says = and !, which are the same, > this one
-- is right and < the other one is. A person's marks are replaced by a person's alone, or, where `takes_back`, by any
-- mark, where one of them stands; with an empty one nothing is known of the two from then on.
-- Returns whether anything was taken back.
local persons = '=!><'
local by_person, taken_back = string.find(persons, marks[1], 1, true), 0
for place = 1, 2 do
  local one, other, mark = memories[place], memories[3 - place], marks[place]
  local words, new = {}, not takes_back and mark .. other or nil
  for word in string.gmatch(redis.call('HGET', links, one) or '', '%S+') do
    local is_persons = string.find(persons, string.sub(word, 1, 1), 1, true)
    if string.sub(word, -36) ~= other then
      words[#words + 1] = word
    elseif is_persons and takes_back then
      new, taken_back = mark .. other, 1
    elseif takes_back or is_persons and not by_person then
      new = word
    end
  end
  if new ~= nil then
    words[#words + 1] = new ~= other and new or nil
    redis.call('HSET', links, one, table.concat(words, ' '))
  end
end
return taken_back
