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
	case op.If == driver.AtRev && (op.Do == driver.Patch || op.Do == driver.Fence):
		return true // of dead records all is written
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
	label, cond, args := "cassandra/mark", p.If, []any{}
	key := []any{partitionText(p.Table, p.Row.Key.Partition), index(p.Table) + p.Row.Key.Sort}
	rev := p.Rev
	if p.was != nil {
		cond, rev = driver.AtRev, p.was.Rev
		if rev.IsZero() {
			cond = driver.Absent
		}
	}
	record := p.Table.Class == driver.Records
	switch {
	case p.isCheck(cond):
		args = []any{gocql.UnsetValue}
	case p.Do == driver.Delete && record:
		label = "cassandra/delete"
	case p.Do == driver.Delete:
		label, args = "cassandra/leave", remains()
	case p.Do == driver.Fence && cond == driver.AtRev && !p.was.Dead:
		args = []any{token[:]}
	default:
		label = "cassandra/update"
		if cond == driver.Absent && record {
			label = "cassandra/insert"
		}
		args = written(token, p, label == "cassandra/insert")
	}
	cql, err := s.named(label, map[string]string{"table": s.table})
	suffix := p.suffix(cond, alone)
	if args = append(args, key...); cond == driver.AtRev {
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

// isCheck reports whether an op writes nothing, if it has a condition.
func (p *planned) isCheck(cond driver.Cond) bool {
	return p.Do == driver.Check || p.Do == driver.Delete && cond == driver.Absent
}

// suffix returns the label of the condition of an op.
func (p *planned) suffix(cond driver.Cond, alone bool) string {
	record := p.Table.Class == driver.Records
	switch {
	case cond == driver.Absent && !record:
		return "cassandra/absent-row"
	case cond == driver.Absent && p.isCheck(cond):
		return "cassandra/absent"
	case cond == driver.Absent:
		return "cassandra/not-exists"
	case cond == driver.Present && record:
		return "cassandra/present"
	case cond == driver.AtRev && (p.Do == driver.Patch || p.Do == driver.Fence) && (p.was == nil || !p.was.Dead):
		return "cassandra/alive"
	case cond == driver.AtRev:
		return "cassandra/at-rev"
	case alone && p.Do == driver.Delete && record:
		return "cassandra/exists"
	case cond == driver.Present, alone && p.Do == driver.Delete:
		return "cassandra/present-row"
	}
	return ""
}

// remains returns the values of the columns of what is left of a row of an index.
func remains() []any {
	const days = 10*24*3600 + 60
	return append([]any{days}, nothing{}, nothing{}, nothing{}, nothing{}, nothing{}, nothing{}, nothing{})
}

// Nothing is a value of no bytes.
type nothing struct{}

func (nothing) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return []byte{}, nil }

// written returns the values of the columns of an op that writes a row.
func written(token driver.Token, p *planned, fresh bool) []any {
	switch {
	case p.Do == driver.Patch && !p.was.Dead:
		return patched(token, p)
	case p.Do == driver.Put:
		return whole(token, p, &p.Row, fresh)
	case fresh:
		return whole(token, p, &driver.Row{Dead: true, Expires: p.Row.Expires}, fresh)
	case p.Do == driver.Patch:
		row := patchedRow(p)
		return whole(token, p, &row, false)
	}
	args := whole(token, p, p.was, false)
	put(args, "_ring", joined(p.was.Ring))
	return args
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
	if p.Table.Ring > 0 && p.Do != driver.Fence {
		put(args, "_ring", ring(token, p))
	}
	husk := row.Dead && !fresh && len(row.Extra) == 0 && !slices.ContainsFunc(row.Fields, func(v driver.Value) bool { return !v.IsNone() })
	if husk {
		put(args, "_later", nothing{})
	}
	for i, c := range p.Table.Fields {
		switch {
		case i < len(row.Fields) && !row.Fields[i].IsNone():
			put(args, c.Name, bindable(row.Fields[i]))
		case husk:
			put(args, c.Name, nothing{})
		case !fresh:
			put(args, c.Name, nil)
		}
	}
	if p.Table.Class == driver.Records { // a missing flag is not false
		put(args, "_dead", row.Dead)
		if !fresh && !husk {
			put(args, "_later", false)
		}
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
	if row.Meta != "" || !fresh {
		put(args, "_note", row.Meta)
	}
}

// ring returns the ring of a row after its change.
func ring(token driver.Token, p *planned) []byte {
	old := p.Row.Ring
	if p.was != nil {
		old = p.was.Ring
	}
	return joined(append([]driver.Token{token}, old[:min(len(old), p.Table.Ring-1)]...))
}

func joined(ring []driver.Token) []byte {
	var b []byte
	for _, t := range ring {
		b = append(b, t[:]...)
	}
	return b
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
	after, changed := patchedRow(p), false
	for _, e := range p.Edits {
		if changed = changed || e.Field < 0; e.Field >= 0 {
			put(args, p.Table.Fields[e.Field].Name, bindable(after.Fields[e.Field]))
		}
	}
	if changed {
		put(args, "_extra", taggedExtra(after.Extra))
	}
	return args
}

// patchedRow returns the row as it is after a patch.
func patchedRow(p *planned) driver.Row {
	row := *p.was
	row.Fields, row.Extra = slices.Clone(row.Fields), slices.Clone(row.Extra)
	if p.PatchMeta {
		row.Expires, row.Meta = p.Row.Expires, p.Row.Meta
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
			row.Fields[e.Field] = v
			continue
		}
		row.Extra = slices.DeleteFunc(row.Extra, func(q driver.Pair) bool { return q.Name == e.Name })
		if !v.IsNone() {
			row.Extra = append(row.Extra, driver.Pair{Name: e.Name, Value: v})
		}
	}
	return row
}
