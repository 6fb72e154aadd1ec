package conformance

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// The faults that several rules share.

// keyFault changes the texts of keys, on every way in.
func keyFault(change func(string) string) fault {
	return func(b *broken) {
		b.key = func(t *driver.Table, k driver.Key) driver.Key {
			if t.Name[0] != '_' {
				k.Partition, k.Sort = change(k.Partition), change(k.Sort)
			}
			return k
		}
	}
}

// classKeyFault is keyFault for the tables of a class only.
func classKeyFault(class driver.Class, change func(string) string) fault {
	return func(b *broken) {
		b.key = func(t *driver.Table, k driver.Key) driver.Key {
			if t.Class == class {
				k.Partition, k.Sort = change(k.Partition), change(k.Sort)
			}
			return k
		}
	}
}

func replaces(old, now string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, now) }
}

func cuts(n int) func(string) string {
	return func(s string) string { return s[:min(n, len(s))] }
}

func valueFault(change func(driver.Value) driver.Value) fault {
	return func(b *broken) { b.value = change }
}

func odd(v driver.Value) driver.Value {
	if v.Kind() == driver.Int {
		return driver.IntValue(v.Int() &^ 1)
	}
	return v
}

func singles(v driver.Value) driver.Value {
	if v.Kind() == driver.Float {
		return driver.FloatValue(float64(float32(v.Float())))
	}
	return v
}

func seconds(v driver.Value) driver.Value {
	if v.Kind() == driver.Time {
		return driver.TimeValue(v.Int() / 1000 * 1000)
	}
	return v
}

func shorter(v driver.Value) driver.Value {
	if v.Kind() == driver.Map {
		return driver.MapValue(v.List()[:len(v.List())-2])
	}
	return v
}

func textsAs(change func(string) string) func(driver.Value) driver.Value {
	return func(v driver.Value) driver.Value {
		switch v.Kind() {
		case driver.String:
			return driver.StringValue(change(v.Str()))
		case driver.Bytes:
			return driver.BytesValue(change(v.Str()))
		}
		return v
	}
}

func opFault(change func(b *broken, op *driver.Op) bool) fault {
	return func(b *broken) { b.op = func(op *driver.Op) bool { return change(b, op) } }
}

// without leaves ops of a verb out that are on tables of some classes.
func without(do driver.Verb, classes ...driver.Class) fault {
	return opFault(func(_ *broken, op *driver.Op) bool { return op.Do != do || !slices.Contains(classes, op.Table.Class) })
}

func noRows() fault    { return without(driver.Put, driver.Rows, driver.Claims) }
func keepsRows() fault { return without(driver.Delete, driver.Rows, driver.Claims) }
func keepsAll() fault  { return without(driver.Delete, driver.Records) }
func noFences() fault  { return without(driver.Fence, driver.Records) }

// forgets treats one condition as another, in ops of some verbs.
func forgets(cond, now driver.Cond, verbs ...driver.Verb) fault {
	return opFault(func(_ *broken, op *driver.Op) bool {
		if op.If == cond && (len(verbs) == 0 || slices.Contains(verbs, op.Do)) {
			op.If = now
			if op.Do == driver.Patch && now == driver.Any {
				op.If = driver.Present
			}
		}
		return true
	})
}

// freeForAll takes no notice of who holds a unique value.
func freeForAll() fault {
	return opFault(func(_ *broken, op *driver.Op) bool {
		if op.Table.Class == driver.Claims {
			op.If = driver.Any
		}
		return true
	})
}

// neverOwn refuses a unique value to the record that has it.
func neverOwn() fault {
	return opFault(func(_ *broken, op *driver.Op) bool {
		if op.Table.Class == driver.Claims && op.If == driver.Present {
			op.If = driver.Absent
		}
		return true
	})
}

// staleRows leaves an index row as it is once it is there.
func staleRows() fault {
	return opFault(func(b *broken, op *driver.Op) bool {
		return op.Do != driver.Put || op.Table.Class == driver.Records || b.stored(op).Rev.IsZero()
	})
}

// bareRows writes index rows without the fields that they cover.
func bareRows() fault {
	return opFault(func(_ *broken, op *driver.Op) bool {
		if op.Table.Class == driver.Rows {
			op.Row.Fields = nil
		}
		return true
	})
}

// noExtra loses undeclared fields.
func noExtra() fault {
	return opFault(func(_ *broken, op *driver.Op) bool { op.Row.Extra = nil; return true })
}

// merges keeps the undeclared fields of a row that is written anew.
func merges() fault {
	return opFault(func(b *broken, op *driver.Op) bool {
		if op.Do == driver.Put && len(op.Row.Extra) == 0 {
			op.Row.Extra = b.stored(op).Extra
		}
		return true
	})
}

// firstElement has an index row for one element of a list only.
func firstElement() fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			var kept []driver.Op
			for i, op := range ops {
				if op.Table.Class == driver.Records || op.Do != driver.Put || i == 0 || ops[i-1].Table != op.Table {
					kept = append(kept, op)
				}
			}
			return b.Store.Commit(ctx, token, kept)
		}
	}
}

// stored returns what the memory backend has under the key of an op.
func (b *broken) stored(op *driver.Op) driver.Row {
	rows := make([]driver.Row, 1)
	if b.Store.Get(context.Background(), op.Table, []driver.Key{op.Row.Key}, nil, rows) != nil {
		return driver.Row{}
	}
	return rows[0]
}
