package redisstore

import "github.com/redis/go-redis/v9"

// script is a Lua script. The server runs it as a whole before the next command.
type script struct {
	source string
	digest string // of the source, by which servers know scripts that they have run
}

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

// The sorted set of keys makes List read a range instead of the whole database. All its scores
// are 0, so its order is that of the bytes. Each script that changes a value changes the set as
// well, so the key of a value is always in the set. The reverse does not hold, because Redis
// removes the expired value and not its key in the set:
//
//   - List ignores and removes names without a value.
//   - Each new name looks at three random ones and removes those without a value. Without that,
//     a server that never lists, such as one that only marks used tokens, would fill the set. In
//     the long run at most a third of the set has no value.
//
// The costs are one ZADD with each write, the memory for each key once more and about 100 bytes,
// and that all values of a namespace are on one node of a cluster.

// set is the end of the scripts that write a value. They have the value and the set of keys as
// KEYS, and the key, the value and its time to live in milliseconds, or 0, as the first ARGV.
const set = `
local added = redis.call('ZADD', KEYS[2], 0, ARGV[1])
if ARGV[3] == '0' then
	redis.call('SET', KEYS[1], ARGV[2])
else
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
if added == 1 then
	local values = string.sub(KEYS[1], 1, #KEYS[1] - #ARGV[1])
	for _, name in ipairs(redis.call('ZRANDMEMBER', KEYS[2], -3)) do
		if redis.call('EXISTS', values .. name) == 0 then
			redis.call('ZREM', KEYS[2], name)
		end
	end
end
return 1
`

var (
	putScript = newScript(set)

	createScript = newScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then
	return 0
end
` + set)

	// ARGV[4] is the value that has to be there. GET returns false if there is none.
	swapScript = newScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[4] then
	return 0
end
` + set)

	deleteScript = newScript(`
redis.call('DEL', KEYS[1])
return redis.call('ZREM', KEYS[2], ARGV[1])
`)

	// listScript looks at the first ARGV[4] names between ARGV[2] and ARGV[3], which are in the
	// form of ZRANGEBYLEX. It returns how many it has seen, the last of them, and those with a
	// value. The keys of values begin with ARGV[1].
	listScript = newScript(`
local names = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
local found = {}
for _, name in ipairs(names) do
	if redis.call('EXISTS', ARGV[1] .. name) == 1 then
		found[#found + 1] = name
	else
		redis.call('ZREM', KEYS[1], name)
	end
end
return {#names, names[#names] or '', found}
`)
)

// A stream of events is a hash: first and last are the numbers of its events, and each event is
// in the field of its number. Two keys describe all streams, so that they have one bound: a sorted
// set with the time of the last event of each, and a hash with the bytes of each and, in the
// field with the empty name, their sum. Each event counts 64 bytes more than it has.

// account is the beginning of the scripts that change a stream. They have the stream, the set of
// times and the hash of bytes as KEYS, and the name of the stream as the first ARGV.
const account = `
local stream, times, sizes, name = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local function resize(of, bytes)
	redis.call('HINCRBY', sizes, of, bytes)
	return redis.call('HINCRBY', sizes, '', bytes)
end
local function remove(other)
	redis.call('DEL', string.sub(stream, 1, #stream - #name) .. other)
	redis.call('ZREM', times, other)
	local total = resize('', 0)
	local bytes = redis.call('HGET', sizes, other)
	if bytes then
		total = resize(other, -bytes)
		redis.call('HDEL', sizes, other)
	end
	return total
end
local function removeEvent(n)
	local bytes = redis.call('HSTRLEN', stream, n) + 64
	redis.call('HDEL', stream, n)
	redis.call('HSET', stream, 'first', n + 1)
	return resize(name, -bytes)
end
`

var (
	// appendScript adds event ARGV[2] with the bytes ARGV[3]. All streams together have at most
	// ARGV[4] bytes, and a stream expires ARGV[5] milliseconds after its last event. The script
	// returns 0 if another event with the same or a later number was there before. If events
	// before this one are missing, those before them are removed: nobody can use them. If there
	// are too many bytes, the streams that got no event for longest are removed, and then the
	// oldest events of this one.
	appendScript = newScript(account + `
local n, age = tonumber(ARGV[2]), tonumber(ARGV[5])
local stored = redis.call('HMGET', stream, 'first', 'last')
local first, last = tonumber(stored[1]), tonumber(stored[2])
if last and n <= last then
	return (n < first or redis.call('HGET', stream, ARGV[2]) == ARGV[3]) and 1 or 0
end
if not last or n > last + 1 then
	remove(name)
	first = n
end
redis.call('HSET', stream, ARGV[2], ARGV[3], 'first', first, 'last', n)
local total = resize(name, #ARGV[3] + 64)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREM', times, name)
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', times, '-inf', now - age, 'LIMIT', 0, 10)) do
	total = remove(expired)
end
while total > tonumber(ARGV[4]) and first <= n do
	local oldest = redis.call('ZRANGE', times, 0, 0)[1]
	if oldest then
		total = remove(oldest)
	else
		total = removeEvent(first)
		first = first + 1
	end
end
redis.call('ZADD', times, now, name)
for _, key in ipairs(KEYS) do
	redis.call('PEXPIRE', key, age)
end
return 1
`)

	// trimScript removes the events up to number ARGV[2], or the stream if that is 'all'.
	trimScript = newScript(account + `
if ARGV[2] == 'all' then
	remove(name)
	return 1
end
local stored = redis.call('HMGET', stream, 'first', 'last')
if stored[1] then
	for n = tonumber(stored[1]), math.min(tonumber(ARGV[2]), tonumber(stored[2])) do
		removeEvent(n)
	end
end
return 1
`)

	// afterScript returns the events after number ARGV[1].
	afterScript = newScript(`
local stored = redis.call('HMGET', KEYS[1], 'first', 'last')
local events = {}
if stored[1] then
	for n = math.max(tonumber(ARGV[1]) + 1, tonumber(stored[1])), tonumber(stored[2]) do
		events[#events + 1] = redis.call('HGET', KEYS[1], n)
	end
end
return events
`)
)
