-- Makes a dead letter an open message again.
-- arguments: entry
-- Returns 0 when there is no such letter.
if redis.call('HEXISTS', key.dead, id) == 0 then return 0 end
unbury()
enter(queue, id, entry)
return 1
