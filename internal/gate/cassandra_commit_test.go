package gate_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/polystore/polystore/repo/driver"
)

// A planned op is an op whose row is known as far as its statement needs it.
type planned struct {
	*driver.Op
	was *driver.Row // what is there, if it had to be read
}

func (s *cassandraStore) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	read := func(op *driver.Op) (driver.Row, error) { return s.row(ctx, op.Table, op.Row.Key, gocql.Serial) }
	for range 50 {
		plan := make([]planned, len(ops))
		for i := range ops {
			plan[i].Op = &ops[i]
			// A batch is a transaction only if it has a condition.
			if !needsRead(&ops[i], len(ops) == 1) && (i > 0 || !unconditional(ops)) {
				continue
			}
			row, err := read(&ops[i])
			if err != nil {
				return nil, err
			}
			plan[i].was = &row
		}
		applied, err := s.try(ctx, token, plan)
		if applied || err != nil {
			return nil, err
		}
		refusal, err := refusalOf(token, ops, read)
		if !errors.Is(err, errMoved) {
			return refusal, err
		}
	}
	return nil, errors.New("others were faster every time")
}

// needsRead reports whether a statement must name what is there: the ring that it
// carries on, a sum, the undeclared fields, and whatever has no condition of its own.
func needsRead(op *driver.Op, alone bool) bool {
	changes := op.Do == driver.Put || op.Do == driver.Patch
	switch {
	case op.If == driver.Absent:
		return false
	case op.Do == driver.Check:
		return op.If != driver.AtRev || alone
	case op.Do == driver.Fence, op.Do == driver.Delete:
		return false
	case op.Table.Class != driver.Records:
		return alone && op.If == driver.Any
	case slices.ContainsFunc(op.Edits, func(e driver.Edit) bool { return e.Do == driver.Add || e.Field < 0 }):
		return true
	}
	return changes && op.Table.Ring > 0 && (op.If != driver.AtRev || op.Row.Ring == nil)
}

// unconditional reports whether the statements of ops would have no condition.
func unconditional(ops []driver.Op) bool {
	return len(ops) > 1 && !slices.ContainsFunc(ops, func(op driver.Op) bool { return op.If != driver.Any || needsRead(&op, false) })
}

// try sends the ops and says whether they were done.
func (s *cassandraStore) try(ctx context.Context, token driver.Token, plan []planned) (bool, error) {
	for i := range plan {
		if p := &plan[i]; p.was != nil && (i == 0 && slices.Contains(p.was.Ring, token) || !holds(p.Op, p.was) || overflows(p.Op, p.was) >= 0) {
			return false, nil // no need to send it
		}
	}
	if len(plan) == 1 && plan[0].Do == driver.Check {
		return false, nil
	}
	batch := s.session.Batch(gocql.LoggedBatch).Consistency(gocql.Quorum).SerialConsistency(gocql.Serial)
	for i := range plan {
		cql, args, err := s.statement(token, &plan[i], len(plan) == 1)
		if err != nil {
			return false, err
		}
		batch.Query(cql, args...)
	}
	if len(plan) == 1 {
		e := batch.Entries[0]
		applied, err := s.session.Query(e.Stmt, e.Args...).Consistency(gocql.Quorum).SerialConsistency(gocql.Serial).
			MapScanCASContext(ctx, map[string]any{})
		// Deleting what is not there is done.
		return applied || plan[0].Do == driver.Delete && plan[0].If == driver.Any, err
	}
	applied, iter, err := batch.MapExecCASContext(ctx, map[string]any{})
	if err != nil {
		return false, err
	}
	return applied, iter.Close()
}

// statement returns the statement of one op.
func (s *cassandraStore) statement(token driver.Token, p *planned, alone bool) (string, []any, error) {
	label, cond, args := "cassandra/update", p.If, []any{}
	key := []any{partitionText(p.Table, p.Row.Key.Partition), index(p.Table) + p.Row.Key.Sort}
	rev := p.Rev
	if p.was != nil {
		cond, rev = driver.AtRev, p.was.Rev
		if rev.IsZero() {
			cond = driver.Absent
		}
	}
	switch {
	case p.Do == driver.Delete, p.Do == driver.Check && cond == driver.Absent:
		label = "cassandra/delete"
	case p.Do == driver.Check:
		args = unset("_rev", rev[:])
	case p.Do == driver.Fence && cond == driver.AtRev:
		args = unset("_rev", token[:])
	case p.Do == driver.Patch:
		args = patched(token, p)
	default:
		row := p.Row
		if p.Do == driver.Fence {
			row = driver.Row{Dead: true, Expires: row.Expires}
		}
		args = whole(token, p, &row, cond == driver.Absent)
	}
	suffix := ""
	switch {
	case cond == driver.Absent && label == "cassandra/update":
		label, suffix = "cassandra/insert", "cassandra/not-exists"
	case cond == driver.Absent:
		suffix = "cassandra/absent"
	case cond == driver.Present:
		suffix = "cassandra/present"
	case cond == driver.AtRev:
		suffix = "cassandra/at-rev"
	case alone && p.Do == driver.Delete:
		suffix = "cassandra/exists"
	}
	cql, err := s.named(label, map[string]string{"table": s.table})
	if args = append(args, key...); suffix == "cassandra/at-rev" {
		args = append(args, rev[:])
	}
	if suffix != "" {
		more, err := s.text(suffix)
		if err != nil {
			return "", nil, err
		}
		cql += " " + more
	}
	return cql, args, err
}

// unset returns the values of the columns with only one of them set.
func unset(name string, v any) []any {
	args := make([]any, len(cassandraColumns))
	for i := range args {
		args[i] = gocql.UnsetValue
	}
	put(args, name, v)
	return args
}

func put(args []any, name string, v any) {
	args[slices.Index(cassandraColumns, name)] = v
}

// whole returns the values of all columns of a row. Where there is none yet, what
// the row has not is left alone: a null would leave a tombstone. Else only fields
// get nulls; the rest has values that say nothing.
func whole(token driver.Token, p *planned, row *driver.Row, fresh bool) []any {
	args := unset("_rev", slices.Clone(token[:]))
	if p.Table.Ring > 0 && p.Do == driver.Put {
		put(args, "_ring", ring(token, p))
	}
	for i, c := range p.Table.Fields {
		switch {
		case i < len(row.Fields) && !row.Fields[i].IsNone():
			put(args, c.Name, bindable(row.Fields[i]))
		case !fresh:
			put(args, c.Name, nil)
		}
	}
	if p.Table.Class == driver.Records { // a missing flag is not false
		put(args, "_dead", row.Dead)
	}
	if len(row.Extra) > 0 || !fresh {
		put(args, "_extra", taggedExtra(row.Extra))
	}
	putMeta(args, row, fresh)
	return args
}

func putMeta(args []any, row *driver.Row, fresh bool) {
	if row.Expires != 0 || !fresh {
		put(args, "_expires", row.Expires)
	}
	if row.Note != "" || !fresh {
		put(args, "_note", row.Note)
	}
}

// ring returns the ring of a row after its change.
func ring(token driver.Token, p *planned) []byte {
	old := p.Row.Ring
	if p.was != nil {
		old = p.was.Ring
	}
	r := slices.Clone(token[:])
	for _, t := range old[:min(len(old), p.Table.Ring-1)] {
		r = append(r, t[:]...)
	}
	return r
}

func taggedExtra(extra []driver.Pair) string {
	extra = slices.Clone(extra)
	slices.SortFunc(extra, func(a, b driver.Pair) int { return strings.Compare(a.Name, b.Name) })
	var pairs []driver.Value
	for _, p := range extra {
		pairs = append(pairs, text(p.Name), p.Value)
	}
	return taggedMap(pairs)
}

// bindable returns the value to bind for a field.
func bindable(v driver.Value) any {
	switch v.Kind() {
	case driver.None:
		return nil
	case driver.Bool:
		return v.Bool()
	case driver.Int, driver.Time:
		return v.Int()
	case driver.Float:
		return v.Float()
	case driver.String:
		return v.Str()
	case driver.Bytes:
		return []byte(v.Str())
	}
	return tagged(v) // lists and maps
}

// patched returns the values of the columns that a patch changes.
func patched(token driver.Token, p *planned) []any {
	args := unset("_rev", slices.Clone(token[:]))
	if p.Table.Ring > 0 {
		put(args, "_ring", ring(token, p))
	}
	if p.PatchMeta {
		putMeta(args, &p.Row, false)
	}
	extra, changed := []driver.Pair{}, false
	if p.was != nil {
		extra = slices.Clone(p.was.Extra)
	}
	for _, e := range p.Edits {
		v := e.Value
		switch e.Do {
		case driver.Unset:
			v = driver.Value{}
		case driver.Add:
			v = driver.IntValue(fieldOf(p.was, e).Int() + v.Int())
		}
		if e.Field >= 0 {
			put(args, p.Table.Fields[e.Field].Name, bindable(v))
			continue
		}
		changed = true
		extra = slices.DeleteFunc(extra, func(q driver.Pair) bool { return q.Name == e.Name })
		if !v.IsNone() {
			extra = append(extra, driver.Pair{Name: e.Name, Value: v})
		}
	}
	if changed {
		put(args, "_extra", taggedExtra(extra))
	}
	return args
}
