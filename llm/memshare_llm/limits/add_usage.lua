-- Adds up what calls used. A batch counts once, also when its reply was lost and it is sent again.
-- keys: last_batch
-- arguments: batch: number, amounts: list
-- `last_batch` has the number of the writer's last one; `amounts` the key of a day, which is kept for `keep` seconds,
-- or of the metrics, which are kept for ever, a field and an amount, in turn.
if tonumber(redis.call('GET', last_batch) or 0) >= batch then return 0 end
for at = 1, #amounts, 3 do
  redis.call('HINCRBYFLOAT', amounts[at], amounts[at + 1], amounts[at + 2])
  if amounts[at] ~= metrics then redis.call('EXPIRE', amounts[at], keep) end
end
redis.call('SET', last_batch, batch, 'EX', keep)
return 1
