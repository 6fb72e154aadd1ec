package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

// The scripts of a commit, as docs/design.md has and explains them. What span, over
// and rows define others call; each closure costs, so that none comes with what it
// does not need.

const spanText = `local call = redis.call

-- span returns the bounds of the member that begins with a Sort: a token follows, and no token begins with 255.
local function span(sort) return '[' .. sort, '(' .. sort .. '\255' end`

const overText = `-- over says whether the sum of two decimals leaves the range of int64. Lua's numbers hold 53 bits.
local function over(a, b)
  local below = a:sub(1, 1) == '-'
  if below ~= (b:sub(1, 1) == '-') then b = below and '-0' or '0' end -- then a alone can be out of range
  if below then a, b = a:sub(2), b:sub(2) end
  local low = tonumber(a:sub(-9)) + tonumber(b:sub(-9))
  local high = (tonumber(a:sub(1, -10)) or 0) + (tonumber(b:sub(1, -10)) or 0)
  if low >= 1e9 then low, high = low - 1e9, high + 1 end
  return high > 9223372036 or high == 9223372036 and low > (below and 854775808 or 854775807)
end`

const rowsText = `-- look sees that rows which go lie in sorted sets, and that those which are written meet their conditions. It returns which of the
-- latter are there already, or else what a script answers.
local function look(k, gone, more, at)
  for i = 1, gone do call('ZCARD', KEYS[k + i]) end -- fails on a key of another type, as ZLEXCOUNT does
  local old = {}
  for i = 1, more do
    local key, a = KEYS[k + gone + i], at + gone + 3 * i
    local want, from, to = ARGV[a - 2], span(ARGV[a - 1])
    old[i] = want ~= 'bare' and call('ZLEXCOUNT', key, from, to) > 0
    if want == 'bare' then call('ZCARD', key)
    elseif want ~= 'any' and old[i] ~= (want == 'present') then
      return nil, {i, call('ZRANGE', key, from, to, 'BYLEX', 'LIMIT', 0, 1)}
    end
  end
  return old
end

-- change removes and writes rows.
local function change(k, gone, more, at, old, token)
  for i = 1, gone do call('ZREMRANGEBYLEX', KEYS[k + i], span(ARGV[at + i])) end
  for i = 1, more do
    local key, a = KEYS[k + gone + i], at + gone + 3 * i
    if old[i] then call('ZREMRANGEBYLEX', key, span(ARGV[a - 1])) end
    call('ZADD', key, '0', ARGV[a - 2] == 'bare' and ARGV[a - 1] or ARGV[a - 1] .. token .. ARGV[a])
  end
end`

const insertText = `-- A record that is not there, with rows that are not there. If one of these is, nothing is written, and put says what that means.
local row, token, own = KEYS[1], ARGV[1], <own>
local bare = 2 * #KEYS + own - #ARGV - 1 -- the last of the sets of bare rows: each of the others has two ARGV
if call('HLEN', row) > 0 then
  local got = call('HMGET', row, '_rev', '_ring')
  if not got[1] then return {-2} end
  if (got[2] or ''):find(token, 1, true) then return {-1} end
  return {0, call('HGETALL', row)}
end
for i = 2, bare do call('ZCARD', KEYS[i]) end -- fails on a key of another type, as ZLEXCOUNT does
for i = bare + 1, #KEYS do
  if call('ZLEXCOUNT', KEYS[i], span(ARGV[own + 2 * i - bare - 2])) > 0 then return {-2} end
end

call('HSET', row, '_rev', token, '_ring', token<fields>) -- the first to write is refused without memory
for i = 2, bare do call('ZADD', KEYS[i], '0', ARGV[own + i - 1]) end
for i = bare + 1, #KEYS do
  local a = own + 2 * i - bare - 2
  call('ZADD', KEYS[i], '0', ARGV[a] .. token .. ARGV[a + 1])
end
return {}`

const removeText = `-- A record that is as it was read dies, and its rows go. If it has another Rev, nothing is written, and put says what that means.
local call, row, ring = redis.call, KEYS[1], ARGV[1]
local bare = 2 * #KEYS + 2 - #ARGV -- the last of the sets of bare rows: each of the others has two ARGV
if call('HGET', row, '_rev') ~= ARGV[2] then return {-2} end
for i = 3, #KEYS do call('ZCARD', KEYS[i]) end -- fails on a key of another type, as the first to write does on that of KEYS[2]

for i = 2, bare do call('ZREM', KEYS[i], ARGV[i + 2]) end -- without memory, too: it gives some back
for i = bare + 1, #KEYS do
  local a = 2 * i - bare + 1
  call('ZREMRANGEBYLEX', KEYS[i], ARGV[a], ARGV[a + 1])
end
call('DEL', row)
call('HSET', row, '_rev', ring:sub(1, 16), '_ring', ring, '_dead', '1', '_expires', ARGV[3])
return {}`

const putText = `local token, cond, sort, room = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local gone, more, row = tonumber(ARGV[5]), tonumber(ARGV[6]), KEYS[1]

-- Everything is looked at before anything is written: Redis does not roll back.
local rev, dead, ring = false, false, ''
if cond ~= 'absent' or call('HLEN', row) > 0 then
  local got = call('HMGET', row, '_rev', '_dead', '_ring')
  rev, dead, ring = got[1], got[2], got[3] or ''
  if ring:find(token, 1, true) then return {-1} end
  if cond == 'absent' and rev or cond == 'present' and (not rev or dead) or #cond == 16 and rev ~= cond then
    return {0, call('HGETALL', row)}
  end
  if not rev and call('HLEN', row) > 0 then return redis.error_reply('WRONGTYPE a hash without _rev') end
end
local k = 1
if sort ~= '' then
  k = 2
  call('ZCARD', KEYS[2])
end
local old, refused = look(k, gone, more, 6)
if refused then return refused end

-- The first to write is refused without memory; what follows it then never is.
local first = 7 + gone + 3 * more
local function fill() -- unpack takes some thousands at most
  call('HSET', row, '_rev', token, '_ring', (token .. ring):sub(1, room), unpack(ARGV, first, math.min(first + 3999, #ARGV)))
  for f = first + 4000, #ARGV, 4000 do call('HSET', row, unpack(ARGV, f, math.min(f + 3999, #ARGV))) end
end
fill()
if rev and call('HLEN', row) > 2 + (#ARGV - first + 1) / 2 then
  call('DEL', row) -- with fields of before
  fill()
end
if sort ~= '' then
  if ARGV[first] == '_dead' then call('ZREM', KEYS[2], sort)
  else call('ZADD', KEYS[2], '0', sort) end
end
change(k, gone, more, 6, old, token)
return {}`

const patchText = `local token, cond, room, row = ARGV[1], ARGV[2], tonumber(ARGV[3]), KEYS[1]
local gone, more = tonumber(ARGV[4]), tonumber(ARGV[5])
local sum = 8 + gone + 3 * more
local set = sum + 2 * ARGV[sum - 2]
local unset = set + 2 * ARGV[sum - 1]

local got = call('HMGET', row, '_rev', '_dead', '_ring')
local rev, dead, ring = got[1], got[2], got[3] or ''
if ring:find(token, 1, true) then return {-1} end
if cond == 'present' and (not rev or dead) or #cond == 16 and rev ~= cond then
  return {0, call('HGETALL', row)}
end
for f = sum, set - 1, 2 do
  local have = call('HGET', row, ARGV[f]) or '0'
  if have ~= '0' and not have:match('^-?[1-9]%d*$') or over(have, ARGV[f + 1]) then
    return {0, call('HGETALL', row), (f - sum) / 2}
  end
end
local old, refused = look(1, gone, more, 5)
if refused then return refused end

call('HSET', row, '_rev', token, '_ring', (token .. ring):sub(1, room), unpack(ARGV, set, math.min(set + 3999, unset - 1)))
for f = set + 4000, unset - 1, 4000 do call('HSET', row, unpack(ARGV, f, math.min(f + 3999, unset - 1))) end
for f = sum, set - 1, 2 do call('HINCRBY', row, ARGV[f], ARGV[f + 1]) end
for f = unset, #ARGV, 4000 do call('HDEL', row, unpack(ARGV, f, math.min(f + 3999, #ARGV))) end
change(1, gone, more, 5, old, token)
return {}`

const editText = `-- A record that is as it was read gets other values in some fields, and rows that are keys alone go and come.
local call, row, ring = redis.call, KEYS[1], ARGV[1]
if call('HGET', row, '_rev') ~= ARGV[2] then
  if (call('HGET', row, '_ring') or ''):find(ring:sub(1, 16), 1, true) then return {-1} end
  return {0, call('HGETALL', row)}
end
for i = 3, #KEYS do call('ZCARD', KEYS[i]) end -- fails on a key of another type, as the first to write does on that of KEYS[2]

local more, names = 2 + ARGV[3], 4 + #KEYS
local values = names + ARGV[4]
for i = 2, more - 1 do call('ZREM', KEYS[i], ARGV[i + 3]) end -- without memory, too: it gives some back
for i = more, #KEYS do call('ZADD', KEYS[i], '0', ARGV[i + 3]) end
call('HSET', row, '_rev', ring:sub(1, 16), '_ring', ring, unpack(ARGV, values))
if values > names then call('HDEL', row, unpack(ARGV, names, values - 1)) end
return {}`

const commitText = `local token = ARGV[1]

local ops, k, a = {}, 1, 2
while ARGV[a] do
  local op = {kind = ARGV[a], cond = ARGV[a + 1], shape = ARGV[a + 2], sort = ARGV[a + 3], room = tonumber(ARGV[a + 4])}
  op.key, op.from, op.to = KEYS[k], a + 6, a + 5 + ARGV[a + 5]
  if op.shape == 'ordered' then k, op.order = k + 1, KEYS[k + 1] end
  ops[#ops + 1], k, a = op, k + 1, op.to + 1
end

for i, op in ipairs(ops) do
  local rev, dead, row
  if op.shape == 'bare' then call('ZCARD', op.key)
  elseif op.shape == 'member' then
    local from, to = span(op.sort)
    row = call('ZRANGE', op.key, from, to, 'BYLEX', 'LIMIT', 0, 1)
    if row[1] then rev = row[1]:sub(#op.sort + 1, #op.sort + 16) end
  else
    local got = call('HMGET', op.key, '_rev', '_dead', '_ring')
    rev, dead, op.ring = got[1], got[2], got[3] or ''
    if i == 1 and op.ring:find(token, 1, true) then return {-1} end
    if not rev and call('HLEN', op.key) > 0 then return redis.error_reply('WRONGTYPE a hash without _rev') end
    if op.order then call('ZCARD', op.order) end
  end
  if op.cond == 'absent' and rev or op.cond == 'present' and (not rev or dead) or #op.cond == 16 and rev ~= op.cond then
    return {i - 1, row or call('HGETALL', op.key)}
  end
  if op.kind == 'patch' then
    op.sets = op.from + 2 + 2 * ARGV[op.from]
    op.unset = op.sets + 2 * ARGV[op.from + 1]
    for f = op.from + 2, op.sets - 1, 2 do
      local have = call('HGET', op.key, ARGV[f]) or '0'
      if have ~= '0' and not have:match('^-?[1-9]%d*$') or over(have, ARGV[f + 1]) then
        return {i - 1, call('HGETALL', op.key), (f - op.from - 2) / 2}
      end
    end
  end
end

local function each(command, key, from, to)
  for f = from, to, 4000 do call(command, key, unpack(ARGV, f, math.min(f + 3999, to))) end
end
local function mark(op) call('HSET', op.key, '_rev', token, '_ring', (token .. op.ring):sub(1, op.room)) end
local write = {}
function write.check() end
function write.put(op)
  mark(op) -- refused without memory; a DEL is not, nor is what follows it
  call('DEL', op.key)
  mark(op)
  each('HSET', op.key, op.from, op.to)
  if not op.order then return end
  if ARGV[op.from] == '_dead' then call('ZREM', op.order, op.sort)
  else call('ZADD', op.order, '0', op.sort) end
end
function write.patch(op)
  mark(op)
  for f = op.from + 2, op.sets - 1, 2 do call('HINCRBY', op.key, ARGV[f], ARGV[f + 1]) end
  each('HSET', op.key, op.sets, op.unset - 1)
  each('HDEL', op.key, op.unset, op.to)
end
function write.delete(op)
  call('DEL', op.key)
  if op.order then call('ZREM', op.order, op.sort) end
end
function write.fence(op)
  call('HSET', op.key, '_rev', token)
  if op.cond == 'absent' then call('HSET', op.key, '_dead', '1', '_expires', ARGV[op.from]) end
end
write['member put'] = function(op)
  call('ZREMRANGEBYLEX', op.key, span(op.sort))
  call('ZADD', op.key, '0', op.sort .. token .. ARGV[op.from])
end
write['bare put'] = function(op) call('ZADD', op.key, '0', op.sort) end
write['bare delete'] = function(op) call('ZREM', op.key, op.sort) end
write['member delete'] = function(op) call('ZREMRANGEBYLEX', op.key, span(op.sort)) end
write['member check'] = write.check
for _, op in ipairs(ops) do
  if not op.kind:find('delete') then write[op.kind](op) end
end
for _, op in ipairs(ops) do
  if op.kind:find('delete') then write[op.kind](op) end
end
return {}`

// newScript returns the script of a text, after those that it calls.
func newScript(texts ...string) *script {
	text := strings.Join(texts, "\n") + "\n"
	hash := sha1.Sum([]byte(text)) // it is by this hash that the server knows a script
	return &script{text: text, hash: hex.EncodeToString(hash[:])}
}
