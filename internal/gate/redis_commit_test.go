package gate_test

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	goredis "github.com/redis/go-redis/v9"
)

// A script is a call of one of the scripts under way.
type script struct {
	label string
	keys  []string
	args  []any
	ops   []int // by number in a refusal: the op that it means

	names []string // of the fields of a record that comes, which the text of an insert has
}

func (s *script) add(args ...any) { s.args = append(s.args, args...) }

func (s *redisStore) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	var call script
	switch {
	case !oneRecord(ops):
		call = s.commitScript(token, ops)
	case insertable(ops):
		call = s.insertScript(token, ops)
	case removable(ops):
		call = s.removeScript(token, ops)
	case ops[0].Do == driver.Put:
		call = s.putScript(token, ops)
	case editable(ops):
		call = s.editScript(token, ops)
	case ops[0].Do == driver.Patch:
		call = s.patchScript(token, ops)
	default:
		call = s.commitScript(token, ops)
	}
	v, err := s.run(ctx, &call)
	if len(v) == 1 && v[0] == int64(-2) {
		call = s.putScript(token, ops)
		v, err = s.run(ctx, &call)
	}
	if err != nil || len(v) < 2 { // done now, or by an earlier sending
		return nil, err
	}
	r := &driver.Refusal{Op: call.ops[v[0].(int64)]}
	op := &ops[r.Op]
	if op.Table.Class == driver.Records {
		r.Row, err = hashRow(op.Table, op.Row.Key, v[1])
	} else {
		r.Row, err = memberRow(op.Table, op.Row.Key, v[1], nil)
	}
	if len(v) == 3 {
		r.Overflow, r.Edit = true, adds(op.Edits)[v[2].(int64)]
	}
	return r, err
}

// calledBy names what stands in front of each script.
var calledBy = map[string][]string{
	"redis/insert": {"redis/span"},
	"redis/remove": {},
	"redis/edit":   {},
	"redis/put":    {"redis/span", "redis/sets", "redis/rows"},
	"redis/patch":  {"redis/span", "redis/over", "redis/sets", "redis/rows"},
	"redis/commit": {"redis/span", "redis/over", "redis/sets"},
}

// run runs a script, which the server may have forgotten.
func (s *redisStore) run(ctx context.Context, call *script) ([]any, error) {
	text := ""
	for _, label := range append(calledBy[call.label], call.label) {
		part, err := s.text(label)
		if err != nil {
			return nil, err
		}
		text += part + "\n"
	}
	text = call.named(text)
	v, err := goredis.NewScript(text).Run(ctx, s.client, call.keys, call.args...).Result()
	if err != nil {
		return nil, err
	}
	return v.([]any), nil
}

// named returns the text of an insert for the fields of the record that comes.
func (s *script) named(text string) string {
	fields := ""
	for i, name := range s.names {
		fields += ", '" + name + "', ARGV[" + strconv.Itoa(i+2) + "]"
	}
	return strings.NewReplacer("<own>", strconv.Itoa(len(s.names)+1), "<fields>", fields).Replace(text)
}

// oneRecord reports whether ops are one on a record and such that write rows of
// its indexes.
func oneRecord(ops []driver.Op) bool {
	if ops[0].Table.Class != driver.Records {
		return false
	}
	for _, op := range ops[1:] {
		if op.Table.Class == driver.Records || op.Do != driver.Put && (op.Do != driver.Delete || op.If != driver.Any) ||
			op.If == driver.AtRev {
			return false
		}
	}
	return true
}

// insertable and removable report whether ops are what insert and remove take.
func insertable(ops []driver.Op) bool {
	for _, op := range ops {
		if op.Do != driver.Put || op.If == driver.Present {
			return false
		}
	}
	return ops[0].If == driver.Absent && !ops[0].Row.Dead && len(fieldsOf(&ops[0])) < 100
}

func removable(ops []driver.Op) bool {
	for _, op := range ops[1:] {
		if op.Do != driver.Delete {
			return false
		}
	}
	return ops[0].Do == driver.Put && ops[0].If == driver.AtRev && ops[0].Row.Dead && len(ops[0].Row.Ring) > 0
}

// editable says whether edit may be asked. Rows of these tables are never keys alone.
func editable(ops []driver.Op) bool {
	op := &ops[0]
	return len(ops) == 1 && op.Do == driver.Patch && op.If == driver.AtRev && len(op.Row.Ring) > 0 && len(adds(op.Edits)) == 0
}

// place adds the keys of a Put and its rows: the list of names and the order, whose members are
// keys alone, come before them. Its member is added, too, and two arguments for each row.
func (s *redisStore) place(c *script, ops []driver.Op, other func(op *driver.Op) (a, b string)) {
	c.keys = append(c.keys, s.key(ops[0].Table, ops[0].Row.Key), s.list(ops[0].Row.Key.Partition), s.order(ops[0].Table, ops[0].Row.Key.Partition))
	c.add(ops[0].Row.Key.Sort)
	for i := range ops[1:] {
		c.keys = append(c.keys, s.key(ops[1+i].Table, ops[1+i].Row.Key))
		a, b := other(&ops[1+i])
		c.add(a, b)
	}
}

func (s *redisStore) insertScript(token driver.Token, ops []driver.Op) script {
	c := script{label: "redis/insert", ops: []int{0}}
	c.add(string(token[:]))
	for i, p := range fieldsOf(&ops[0]) {
		if i%2 == 0 {
			c.names = append(c.names, p)
		} else {
			c.add(p)
		}
	}
	s.place(&c, ops, func(op *driver.Op) (a, b string) { return op.Row.Key.Sort, rest(op) })
	return c
}

func (s *redisStore) removeScript(token driver.Token, ops []driver.Op) script {
	c := script{label: "redis/remove"}
	c.add(ringAfter(token, &ops[0]), string(ops[0].Rev[:]), ops[0].Row.Expires, ttl(&ops[0]))
	s.place(&c, ops, func(op *driver.Op) (a, b string) { return "[" + op.Row.Key.Sort, "(" + op.Row.Key.Sort + "\xff" })
	return c
}

func (s *redisStore) editScript(token driver.Token, ops []driver.Op) script {
	op := &ops[0]
	c := script{label: "redis/edit", keys: []string{s.key(op.Table, op.Row.Key), s.list(op.Row.Key.Partition)}, ops: []int{0}}
	args := patchArgs(op)
	sets := 2 + 2*args[1].(int)
	c.add(ringAfter(token, op), string(op.Rev[:]), 0, len(args)-sets)
	c.add(args[sets:]...)
	c.add(args[2:sets]...)
	return c
}

// ringAfter returns the ring that the row of op will have.
func ringAfter(token driver.Token, op *driver.Op) string {
	ring := string(token[:])
	for _, t := range op.Row.Ring {
		ring += string(t[:])
	}
	return ring[:min(len(ring), 16*op.Table.Ring)]
}

func (s *redisStore) putScript(token driver.Token, ops []driver.Op) script {
	op := &ops[0]
	c := script{label: "redis/put", keys: []string{s.key(op.Table, op.Row.Key), s.order(op.Table, op.Row.Key.Partition)}, ops: []int{0}}
	c.add(string(token[:]), condition(op), op.Row.Key.Sort, 16*op.Table.Ring, ttl(op))
	s.addRows(&c, ops)
	for _, p := range fieldsOf(op) {
		c.add(p)
	}
	return c
}

// addRows adds what a script is told of the rows that come after the first op.
func (s *redisStore) addRows(c *script, ops []driver.Op) {
	var gone, more []int
	for i := 1; i < len(ops); i++ {
		if ops[i].Do == driver.Delete {
			gone = append(gone, i)
		} else {
			more = append(more, i)
		}
	}
	c.add(len(gone), len(more))
	for _, i := range slices.Concat(gone, more) {
		c.keys = append(c.keys, s.key(ops[i].Table, ops[i].Row.Key))
	}
	c.keys = append(c.keys, s.list(ops[0].Row.Key.Partition))
	for _, i := range gone {
		c.add(ops[i].Row.Key.Sort)
	}
	for _, i := range more {
		c.add(condition(&ops[i]), ops[i].Row.Key.Sort, rest(&ops[i]))
		c.ops = append(c.ops, i)
	}
}

// ordered reports whether an op may change the order of records.
func ordered(op *driver.Op) bool {
	return op.Table.Class == driver.Records && (op.Do == driver.Put || op.Do == driver.Delete)
}

// ttl returns after how many milliseconds a dead record goes by itself.
func ttl(op *driver.Op) int64 { return op.Table.Retention.Milliseconds() }

func condition(op *driver.Op) string {
	if op.If == driver.AtRev {
		return string(op.Rev[:])
	}
	return op.If.String()
}

// fieldsOf returns names and values of the hash of a row, but _rev and _ring; _dead
// comes first.
func fieldsOf(op *driver.Op) []string {
	list := metaOf(&op.Row)
	for i, v := range op.Row.Fields {
		if !v.IsNone() {
			list = append(list, op.Table.Fields[i].Name, scalar(v))
		}
	}
	for _, p := range op.Row.Extra {
		list = append(list, "."+p.Name, tagged(p.Value))
	}
	return list
}

func metaOf(row *driver.Row) []string {
	var list []string
	if row.Dead {
		list = append(list, "_dead", "1")
	}
	if row.Expires != 0 {
		list = append(list, "_expires", strconv.FormatInt(row.Expires, 10))
	}
	if row.Meta != "" {
		list = append(list, "_note", row.Meta)
	}
	return list
}

// rest returns what follows the token in the member of an index row.
func rest(op *driver.Op) string {
	var pairs []driver.Pair
	if op.Row.Expires != 0 {
		pairs = append(pairs, driver.Pair{Name: "_expires", Value: driver.IntValue(op.Row.Expires)})
	}
	for i, v := range op.Row.Fields {
		if !v.IsNone() {
			pairs = append(pairs, driver.Pair{Name: op.Table.Fields[i].Name, Value: v})
		}
	}
	pairs = append(pairs, op.Row.Extra...)
	if len(pairs) == 0 {
		return ""
	}
	slices.SortFunc(pairs, func(a, b driver.Pair) int { return strings.Compare(a.Name, b.Name) })
	var list []driver.Value
	for _, p := range pairs {
		list = append(list, text(p.Name), p.Value)
	}
	return taggedMap(list)
}

func (s *redisStore) patchScript(token driver.Token, ops []driver.Op) script {
	op := &ops[0]
	c := script{label: "redis/patch", keys: []string{s.key(op.Table, op.Row.Key)}, ops: []int{0}}
	c.add(string(token[:]), condition(op), 16*op.Table.Ring)
	s.addRows(&c, ops)
	c.add(patchArgs(op)...)
	return c
}

// adds returns the places of the edits that add.
func adds(edits []driver.Edit) []int {
	var list []int
	for i, e := range edits {
		if e.Do == driver.Add {
			list = append(list, i)
		}
	}
	return list
}

// patchArgs returns the numbers of sums and of fields set, then these, then the
// names of fields that go.
func patchArgs(op *driver.Op) []any {
	var sums, sets, gone []any
	for _, e := range op.Edits {
		name := "." + e.Name
		value := tagged(e.Value)
		if e.Field >= 0 {
			name, value = op.Table.Fields[e.Field].Name, scalar(e.Value)
		}
		switch {
		case e.Do == driver.Add:
			sums = append(sums, name, value)
		case e.Do == driver.Unset || e.Value.IsNone():
			gone = append(gone, name)
		default:
			sets = append(sets, name, value)
		}
	}
	if op.PatchMeta {
		for i, p := 0, metaOf(&op.Row); i < len(p); i++ {
			sets = append(sets, p[i])
		}
		if op.Row.Expires == 0 {
			gone = append(gone, "_expires")
		}
		if op.Row.Meta == "" {
			gone = append(gone, "_note")
		}
	}
	return slices.Concat([]any{len(sums) / 2, len(sets) / 2}, sums, sets, gone)
}

func (s *redisStore) commitScript(token driver.Token, ops []driver.Op) script {
	c := script{label: "redis/commit"}
	c.add(string(token[:]))
	for i := range ops {
		op := &ops[i]
		c.ops = append(c.ops, i)
		kind, shape, args := op.Do.String(), "plain", []any{}
		c.keys = append(c.keys, s.key(op.Table, op.Row.Key))
		switch {
		case op.Table.Class != driver.Records:
			kind, shape = "member "+kind, "member"
		case ordered(op):
			shape = "ordered"
			c.keys = append(c.keys, s.order(op.Table, op.Row.Key.Partition))
		}
		switch {
		case kind == "member put":
			args = append(args, rest(op))
		case op.Do == driver.Put:
			for _, f := range fieldsOf(op) {
				args = append(args, f)
			}
		case op.Do == driver.Patch:
			args = patchArgs(op)
		case op.Do == driver.Fence:
			args = append(args, op.Row.Expires)
		}
		c.add(kind, condition(op), shape, op.Row.Key.Sort, 16*op.Table.Ring, ttl(op), len(args))
		c.add(args...)
	}
	c.keys = append(c.keys, s.list(ops[0].Row.Key.Partition))
	return c
}
