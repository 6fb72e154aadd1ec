package redis

import "github.com/polystore/polystore/backends/redis/internal/wire"

// The scripts of a commit, as internal/gate/statements.md has and explains them. What span, over
// and rows define others call; each closure costs, so that none comes with what it
// does not need.

var (
	createScript = wire.NewScript(createText)
	dropScript   = wire.NewScript(dropText)
	removeScript = wire.NewScript(removeText)
	editScript   = wire.NewScript(editText)
	putScript    = wire.NewScript(spanText, setsText, rowsText, putText)
	patchScript  = wire.NewScript(spanText, overText, setsText, rowsText, patchText)
	commitScript = wire.NewScript(spanText, overText, setsText, commitText)
)

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

const setsText = `-- The last key is the list of names. count fails on a key of another type, join puts a member into a set, and leave looks at one that
-- has lost some. full has the sets that are known to have members, which are in the list.
local all, full = KEYS[#KEYS], {}
local function count(key)
  if full[key] == nil then full[key] = call('ZCARD', key) > 0 end
end
local function join(key, member)
  call('ZADD', key, '0', member)
  if not full[key] then
    call('ZADD', all, '0', key)
    full[key] = true
  end
end
local function leave(key)
  full[key] = call('EXISTS', key) > 0
  if not full[key] then call('ZREM', all, key) end
end

-- die lets a dead record go by itself after a time, if there is one, or else puts it into the list.
local function die(row, ttl)
  if ttl == '0' then call('ZADD', all, '0', row) else call('PEXPIRE', row, ttl) end
end`

const rowsText = `-- look sees that rows which go lie in sorted sets, and that those which are written meet their conditions. It returns which of the
-- latter are there already, or else what a script answers.
local function look(k, gone, more, at)
  count(all)
  for i = 1, gone do count(KEYS[k + i]) end
  local old = {}
  for i = 1, more do
    local key, a = KEYS[k + gone + i], at + gone + 3 * i
    local want, from, to = ARGV[a - 2], span(ARGV[a - 1])
    count(key)
    old[i] = want ~= 'bare' and full[key] and call('ZLEXCOUNT', key, from, to) > 0
    if want ~= 'bare' and want ~= 'any' and old[i] ~= (want == 'present') then
      return nil, {i, call('ZRANGE', key, from, to, 'BYLEX', 'LIMIT', 0, 1)}
    end
  end
  return old
end

-- change removes and writes rows.
local function change(k, gone, more, at, old, token)
  for i = 1, gone do
    if call('ZREMRANGEBYLEX', KEYS[k + i], span(ARGV[at + i])) > 0 then leave(KEYS[k + i]) end
  end
  for i = 1, more do
    local key, a = KEYS[k + gone + i], at + gone + 3 * i
    if old[i] then call('ZREMRANGEBYLEX', key, span(ARGV[a - 1])) end
    join(key, ARGV[a - 2] == 'bare' and ARGV[a - 1] or ARGV[a - 1] .. token .. ARGV[a])
  end
end`

const insertText = `-- A record that is not there, with rows that are not there. If one of these is, nothing is written, and put says what that means.
local row, all, token, own = KEYS[1], KEYS[2], ARGV[1], <own>
local bare = 2 * #KEYS + own - #ARGV - 2 -- the last of the sets of key-only rows: each of the others has two ARGV
if call('HLEN', row) > 0 then
  local got = call('HMGET', row, '_rev', '_ring')
  if not got[1] then return {-2} end
  if (got[2] or ''):find(token, 1, true) then return {-1} end
  return {0, call('HGETALL', row)}
end
local new = {} -- sets without a member
for i = 3, #KEYS do
  if call('ZCARD', KEYS[i]) == 0 then new[#new + 1] = KEYS[i] -- fails on a key of another type, as ZLEXCOUNT does
  elseif i > bare and call('ZLEXCOUNT', KEYS[i], span(ARGV[own + 2 * i - bare - 3])) > 0 then return {-2} end
end
if new[1] then call('ZCARD', all) end

call('HSET', row, '_rev', token, '_ring', token<fields>) -- the first to write is refused without memory
for i = 3, bare do call('ZADD', KEYS[i], '0', ARGV[own + i - 2]) end
for i = bare + 1, #KEYS do
  local a = own + 2 * i - bare - 3
  call('ZADD', KEYS[i], '0', ARGV[a] .. token .. ARGV[a + 1])
end
for i = 1, #new do call('ZADD', all, '0', new[i]) end
return {}`

const removeText = `-- A record that is as it was read dies, and its rows go. If it has another Rev, nothing is written, and put says what that means.
local call, row, all, ring = redis.call, KEYS[1], KEYS[2], ARGV[1]
local bare = 2 * #KEYS + 2 - #ARGV -- the last of the sets of key-only rows: each of the others has two ARGV
if call('HGET', row, '_rev') ~= ARGV[2] then return {-2} end
local few = {} -- sets that may be empty afterwards
for i = 3, #KEYS do
  if call('ZCARD', KEYS[i]) < #KEYS then few[#few + 1] = KEYS[i] end -- fails on a key of another type
end
if few[1] or ARGV[4] == '0' then call('ZCARD', all) end

for i = 3, bare do call('ZREM', KEYS[i], ARGV[i + 2]) end -- without memory, too: it gives some back
for i = bare + 1, #KEYS do
  local a = 2 * i - bare + 1
  call('ZREMRANGEBYLEX', KEYS[i], ARGV[a], ARGV[a + 1])
end
for i = 1, #few do
  if call('EXISTS', few[i]) == 0 then call('ZREM', all, few[i]) end
end
call('DEL', row)
call('HSET', row, '_rev', ring:sub(1, 16), '_ring', ring, '_dead', '1', '_expires', ARGV[3])
if ARGV[4] == '0' then call('ZADD', all, '0', row) else call('PEXPIRE', row, ARGV[4]) end
return {}`

const putText = `local token, cond, sort, room, ttl = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local gone, more, row, order = tonumber(ARGV[6]), tonumber(ARGV[7]), KEYS[1], KEYS[2]

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
count(order)
local old, refused = look(2, gone, more, 7)
if refused then return refused end

-- The first to write is refused without memory; what follows it then never is.
local first = 8 + gone + 3 * more
local function fill() -- unpack takes some thousands at most
  call('HSET', row, '_rev', token, '_ring', (token .. ring):sub(1, room), unpack(ARGV, first, math.min(first + 3999, #ARGV)))
  for f = first + 4000, #ARGV, 4000 do call('HSET', row, unpack(ARGV, f, math.min(f + 3999, #ARGV))) end
end
fill()
if dead or rev and call('HLEN', row) > 2 + (#ARGV - first + 1) / 2 then
  call('DEL', row) -- with fields of before, and the time at which a dead one goes
  fill()
end
if ARGV[first] == '_dead' then
  if call('ZREM', order, sort) == 1 then leave(order) end
  die(row, ttl)
else
  join(order, sort)
  if dead then call('ZREM', all, row) end
end
change(2, gone, more, 7, old, token)
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
local call, row, all, ring = redis.call, KEYS[1], KEYS[2], ARGV[1]
if call('HGET', row, '_rev') ~= ARGV[2] then
  if (call('HGET', row, '_ring') or ''):find(ring:sub(1, 16), 1, true) then return {-1} end
  return {0, call('HGETALL', row)}
end
local more, names = 3 + ARGV[3], 3 + #KEYS
local few, new = {}, {} -- sets that may be empty afterwards, and sets without a member
for i = 3, #KEYS do
  local n = call('ZCARD', KEYS[i]) -- fails on a key of another type
  if i < more and n < #KEYS then few[#few + 1] = KEYS[i] elseif n == 0 then new[#new + 1] = KEYS[i] end
end
if few[1] or new[1] then call('ZCARD', all) end

local values = names + ARGV[4]
for i = 3, more - 1 do call('ZREM', KEYS[i], ARGV[i + 2]) end -- without memory, too: it gives some back
for i = more, #KEYS do call('ZADD', KEYS[i], '0', ARGV[i + 2]) end
call('HSET', row, '_rev', ring:sub(1, 16), '_ring', ring, unpack(ARGV, values))
if values > names then call('HDEL', row, unpack(ARGV, names, values - 1)) end
for i = 1, #new do call('ZADD', all, '0', new[i]) end
for i = 1, #few do
  if call('EXISTS', few[i]) == 0 then call('ZREM', all, few[i]) end
end
return {}`

const commitText = `local token = ARGV[1]

local ops, k, a = {}, 1, 2
while ARGV[a] do
  local op = {kind = ARGV[a], cond = ARGV[a + 1], shape = ARGV[a + 2], sort = ARGV[a + 3], room = tonumber(ARGV[a + 4]), ttl = ARGV[a + 5]}
  op.key, op.from, op.to = KEYS[k], a + 7, a + 6 + ARGV[a + 6]
  if op.shape == 'ordered' then k, op.order = k + 1, KEYS[k + 1] end
  ops[#ops + 1], k, a = op, k + 1, op.to + 1
end

count(all)
for i, op in ipairs(ops) do
  local rev, dead, row
  if op.shape == 'bare' then count(op.key)
  elseif op.shape == 'member' then
    count(op.key)
    local from, to = span(op.sort)
    row = full[op.key] and call('ZRANGE', op.key, from, to, 'BYLEX', 'LIMIT', 0, 1) or {}
    if row[1] then rev = row[1]:sub(#op.sort + 1, #op.sort + 16) end
  else
    local got = call('HMGET', op.key, '_rev', '_dead', '_ring')
    rev, dead, op.ring = got[1], got[2], got[3] or ''
    op.dead = dead
    if i == 1 and op.ring:find(token, 1, true) then return {-1} end
    if not rev and call('HLEN', op.key) > 0 then return redis.error_reply('WRONGTYPE a hash without _rev') end
    if op.order then count(op.order) end
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
  if op.dead then call('ZREM', all, op.key) end
  if ARGV[op.from] ~= '_dead' then return join(op.order, op.sort) end
  if call('ZREM', op.order, op.sort) == 1 then leave(op.order) end
  die(op.key, op.ttl)
end
function write.patch(op)
  mark(op)
  for f = op.from + 2, op.sets - 1, 2 do call('HINCRBY', op.key, ARGV[f], ARGV[f + 1]) end
  each('HSET', op.key, op.sets, op.unset - 1)
  each('HDEL', op.key, op.unset, op.to)
end
function write.delete(op)
  call('DEL', op.key)
  if op.dead then call('ZREM', all, op.key) end
  if call('ZREM', op.order, op.sort) == 1 then leave(op.order) end
end
function write.fence(op)
  call('HSET', op.key, '_rev', token)
  if op.cond == 'absent' then call('HSET', op.key, '_dead', '1', '_expires', ARGV[op.from]) end
  if op.cond == 'absent' or op.dead then die(op.key, op.ttl) end
end
write['member put'] = function(op)
  call('ZREMRANGEBYLEX', op.key, span(op.sort))
  join(op.key, op.sort .. token .. ARGV[op.from])
end
write['bare put'] = function(op) join(op.key, op.sort) end
write['bare delete'] = function(op) if call('ZREM', op.key, op.sort) > 0 then leave(op.key) end end
write['member delete'] = function(op) if call('ZREMRANGEBYLEX', op.key, span(op.sort)) > 0 then leave(op.key) end end
write['member check'] = write.check
for _, op in ipairs(ops) do
  if not op.kind:find('delete') then write[op.kind](op) end
end
for _, op in ipairs(ops) do
  if op.kind:find('delete') then write[op.kind](op) end
end
return {}`
