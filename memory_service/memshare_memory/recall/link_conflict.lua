-- Note what is known of two memories, at each of them.
-- KEYS[1]: hash of the pool: memory → the others with which it was compared, each after its mark.
-- ARGV[1], ARGV[2]: the two. ARGV[3], ARGV[4]: the mark at each: - both may be true, + they contradict each other; a
-- person says = and !, which are the same, > this one is right and < the other one is. A person's marks are replaced by
-- a person's alone, or with ARGV[5] = 1 by any mark, where one of them stands.
-- Returns whether anything was taken back.
local takes_back, persons = ARGV[5] == '1', '=!><'
local by_person, taken_back = string.find(persons, ARGV[3], 1, true), 0
for place = 1, 2 do
  local one, other, mark = ARGV[place], ARGV[3 - place], ARGV[2 + place]
  local words, new = {}, not takes_back and mark .. other or nil
  for word in string.gmatch(redis.call('HGET', KEYS[1], one) or '', '%S+') do
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
    words[#words + 1] = new
    redis.call('HSET', KEYS[1], one, table.concat(words, ' '))
  end
end
return taken_back
