-- Note what is known of two memories, at each of them.
-- KEYS[1]: hash of the pool: memory → the others with which it was compared, each after its mark.
-- ARGV[1], ARGV[2]: the two. ARGV[3]: the mark: - both may be true, + they contradict each other; = and ! are the same
-- as a person says it, and are replaced by these two alone.
local mark = ARGV[3]
local by_person = mark == '=' or mark == '!'
for place = 1, 2 do
  local one, other = ARGV[place], ARGV[3 - place]
  local words, new = {}, mark .. other
  for word in string.gmatch(redis.call('HGET', KEYS[1], one) or '', '%S+') do
    if string.sub(word, -36) ~= other then
      words[#words + 1] = word
    elseif not by_person and string.find('=!', string.sub(word, 1, 1), 1, true) then
      new = word
    end
  end
  words[#words + 1] = new
  redis.call('HSET', KEYS[1], one, table.concat(words, ' '))
end
