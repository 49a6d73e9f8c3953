-- Adds up what calls used. A batch counts once, also when its reply was lost and it is sent again.
-- KEYS: number of the writer's last batch; metrics, which are kept for ever.
-- ARGV: number of this batch; seconds to keep a day; then the key of a day or of the metrics, a field and an amount, in
-- turn.
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
for at = 3, #ARGV, 3 do
  redis.call('HINCRBYFLOAT', ARGV[at], ARGV[at + 1], ARGV[at + 2])
  if ARGV[at] ~= KEYS[2] then redis.call('EXPIRE', ARGV[at], ARGV[2]) end
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
