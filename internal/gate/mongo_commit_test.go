package gate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

func (s *mongoStore) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	send := s.together
	if len(ops) == 1 {
		send = s.alone
	}
	for attempt := range 50 {
		done, err := send(ctx, token, ops)
		switch {
		case transient(err): // nothing was done
			time.Sleep(time.Duration(attempt) * time.Millisecond)
			continue
		case err != nil || done:
			return nil, err
		}
		refusal, err := s.refusal(ctx, token, ops)
		if !errors.Is(err, errMoved) {
			return refusal, err
		}
	}
	return nil, errors.New("others were faster every time")
}

// alone does one op; a Check alone is left to the reading of what is there.
func (s *mongoStore) alone(ctx context.Context, token driver.Token, ops []driver.Op) (bool, error) {
	if ops[0].Do == driver.Check {
		return false, nil
	}
	return s.do(ctx, token, &ops[0])
}

// transient reports whether a transaction was undone because of another one.
func transient(err error) bool {
	var server mongodriver.ServerError
	return errors.As(err, &server) && server.HasErrorLabel("TransientTransactionError")
}

// together does several ops in one transaction.
func (s *mongoStore) together(ctx context.Context, token driver.Token, ops []driver.Op) (bool, error) {
	session, err := s.db.Client().StartSession()
	if err != nil {
		return false, err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	if err := session.StartTransaction(snapshotMajority()); err != nil {
		return false, err
	}
	in := mongodriver.NewSessionContext(ctx, session)
	for len(ops) > 0 {
		n := neighbours(ops)
		done, err := s.doRows(in, token, ops[:n])
		if err != nil || !done {
			return false, errors.Join(err, session.AbortTransaction(ctx))
		}
		ops = ops[n:]
	}
	return true, session.CommitTransaction(ctx)
}

// neighbours returns how many ops share a statement with the first: rows of its
// table without conditions, all written or all removed, or records that are fenced.
func neighbours(ops []driver.Op) int {
	n := 1
	for shared := func(op *driver.Op) bool {
		return op.Table == ops[0].Table && op.Do == ops[0].Do &&
			(op.If == driver.Any && op.Table.Class != driver.Records || op.If == driver.AtRev && op.Do == driver.Fence)
	}; n < len(ops) && shared(&ops[0]) && shared(&ops[n]); n++ {
	}
	return n
}

// doRows does ops that share a statement.
func (s *mongoStore) doRows(ctx context.Context, token driver.Token, ops []driver.Op) (bool, error) {
	if len(ops) == 1 {
		return s.do(ctx, token, &ops[0])
	}
	if ops[0].Do == driver.Fence {
		return s.touch(ctx, token, ops)
	}
	var all bson.D
	for i := range ops {
		label, params, err := s.prepare(token, &ops[i])
		if err != nil {
			return false, err
		}
		one, err := s.document(label, params)
		if err != nil {
			return false, err
		}
		if all == nil {
			all = one
			continue
		}
		all[1].Value = append(all[1].Value.(bson.A), one[1].Value.(bson.A)...)
	}
	n, err := s.sendWrite(ctx, all)
	return ops[0].Do == driver.Delete || n == len(ops), err
}

// touch fences records by one statement.
func (s *mongoStore) touch(ctx context.Context, token driver.Token, ops []driver.Op) (bool, error) {
	var keys, revs bson.A
	for i := range ops {
		key := ops[i].Row.Key.Partition + ops[i].Row.Key.Sort
		keys, revs = append(keys, key), append(revs, bson.A{key, binary(ops[i].Rev)})
	}
	n, err := s.write(ctx, "mongo/touch", bson.M{"table": ops[0].Table.Name, "keys": keys, "revs": revs, "token": binary(token)})
	return n == len(ops), err
}

func snapshotMajority() options.Lister[options.TransactionOptions] {
	journaled := true
	return options.Transaction().SetReadConcern(readconcern.Snapshot()).
		SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journaled})
}

// do does one op and says whether its condition held.
func (s *mongoStore) do(ctx context.Context, token driver.Token, op *driver.Op) (bool, error) {
	if op.If == driver.Absent {
		return s.doAbsent(ctx, token, op)
	}
	label, params, err := s.prepare(token, op)
	if err != nil {
		return false, err
	}
	n, err := s.write(ctx, label, params)
	switch {
	case hasCode(err, codeDuplicateKey): // an upsert of a row that does not match
		return false, nil
	case op.Do == driver.Patch && hasCode(err, codeBadValue): // $inc beyond int64
		return false, nil
	}
	return n == 1 || op.If == driver.Any && op.Do != driver.Put, err
}

// prepare returns the statement of an op and its parameters.
func (s *mongoStore) prepare(token driver.Token, op *driver.Op) (string, bson.M, error) {
	where, err := s.where(token, op)
	if err != nil {
		return "", nil, err
	}
	params := bson.M{"table": op.Table.Name, "where": where, "upsert": op.If == driver.Any, "ring": int32(op.Table.Ring),
		"token": binary(token)}
	label := map[driver.Verb]string{driver.Check: "mongo/check", driver.Put: "mongo/put", driver.Patch: "mongo/patch",
		driver.Delete: "mongo/delete", driver.Fence: "mongo/fence"}[op.Do]
	switch op.Do {
	case driver.Put:
		params["row"] = document(token, op)
		if op.Table.Ring == 0 {
			label = "mongo/put-row"
		}
	case driver.Patch:
		err = s.edits(token, op, params)
	}
	return label, params, err
}

// doAbsent does an op on a row that must not be there.
func (s *mongoStore) doAbsent(ctx context.Context, token driver.Token, op *driver.Op) (bool, error) {
	row := *op
	switch op.Do {
	case driver.Fence:
		row.Row.Dead = true
	case driver.Check, driver.Delete: // it comes and goes
		if mongodriver.SessionFromContext(ctx) == nil {
			return false, nil // refusal reads
		}
		row.Row = driver.Row{Key: op.Row.Key}
	}
	d := document(token, &row)
	if op.Do == driver.Put && op.Table.Ring > 0 {
		d = append(d, bson.E{Key: "_ring", Value: bson.A{binary(token)}})
	}
	_, err := s.write(ctx, "mongo/insert", bson.M{"table": op.Table.Name, "rows": bson.A{d}})
	if hasCode(err, codeDuplicateKey) {
		return false, nil
	}
	if err == nil && (op.Do == driver.Check || op.Do == driver.Delete) {
		_, err = s.write(ctx, "mongo/delete", bson.M{"table": op.Table.Name, "where": d[:1]})
	}
	return true, err
}

func (s *mongoStore) where(token driver.Token, op *driver.Op) (bson.D, error) {
	label := map[driver.Cond]string{driver.Any: "mongo/any", driver.Present: "mongo/present", driver.AtRev: "mongo/at-rev"}[op.If]
	return s.document(label, bson.M{"key": op.Row.Key.Partition + op.Row.Key.Sort, "token": binary(token), "rev": binary(op.Rev)})
}

func binary(t driver.Token) bson.Binary { return bson.Binary{Data: t[:]} }

// document returns the row of an op, without a ring.
func document(token driver.Token, op *driver.Op) bson.D {
	d := bson.D{{Key: "_id", Value: op.Row.Key.Partition + op.Row.Key.Sort}, {Key: "_rev", Value: binary(token)}}
	if op.Row.Dead {
		d = append(d, bson.E{Key: "_dead", Value: true})
	}
	if op.Row.Expires != 0 {
		d = append(d, bson.E{Key: "_expires", Value: bson.DateTime(op.Row.Expires)})
	}
	if op.Row.Meta != "" {
		d = append(d, bson.E{Key: "_note", Value: op.Row.Meta})
	}
	for i, v := range op.Row.Fields {
		if !v.IsNone() {
			d = append(d, bson.E{Key: op.Table.Fields[i].Name, Value: toBSON(v)})
		}
	}
	extra := bson.D{}
	for _, p := range op.Row.Extra {
		extra = append(extra, bson.E{Key: escaped.Replace(p.Name), Value: toBSON(p.Value)})
	}
	if len(extra) > 0 {
		d = append(d, bson.E{Key: "_extra", Value: extra})
	}
	return d
}

// edits fills the parameters of a patch.
func (s *mongoStore) edits(token driver.Token, op *driver.Op, params bson.M) error {
	set, unset, add := bson.D{{Key: "_rev", Value: binary(token)}}, bson.D{}, bson.D{}
	var guards bson.A
	for _, e := range op.Edits {
		field := "_extra." + escaped.Replace(e.Name)
		if e.Field >= 0 {
			field = op.Table.Fields[e.Field].Name
		}
		switch {
		case e.Do == driver.Add:
			guard, err := s.document("mongo/addable", bson.M{"field": field})
			if err != nil {
				return err
			}
			guards, add = append(guards, guard), append(add, bson.E{Key: field, Value: e.Value.Int()})
		case e.Do == driver.Unset || e.Value.IsNone():
			unset = append(unset, bson.E{Key: field, Value: ""})
		default:
			set = append(set, bson.E{Key: field, Value: toBSON(e.Value)})
		}
	}
	if op.PatchMeta {
		if op.Row.Expires != 0 {
			set = append(set, bson.E{Key: "_expires", Value: bson.DateTime(op.Row.Expires)})
		} else {
			unset = append(unset, bson.E{Key: "_expires", Value: ""})
		}
		if op.Row.Meta != "" {
			set = append(set, bson.E{Key: "_note", Value: op.Row.Meta})
		} else {
			unset = append(unset, bson.E{Key: "_note", Value: ""})
		}
	}
	if guards != nil {
		params["where"] = append(params["where"].(bson.D), bson.E{Key: "$and", Value: guards})
	}
	params["set"], params["unset"], params["add"] = set, unset, add
	return nil
}

// refusal reads what is there and says which op it refuses, or that the commit
// had been done before.
func (s *mongoStore) refusal(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	return refusalOf(token, ops, func(op *driver.Op) (driver.Row, error) {
		var rows [1]driver.Row
		err := s.Get(ctx, op.Table, []driver.Key{op.Row.Key}, nil, rows[:])
		return rows[0], err
	})
}

// refusalOf looks at the rows of ops, in turn, for the first one that refuses.
func refusalOf(token driver.Token, ops []driver.Op, read func(*driver.Op) (driver.Row, error)) (*driver.Refusal, error) {
	for i := range ops {
		row, err := read(&ops[i])
		if err != nil {
			return nil, err
		}
		for _, t := range row.Ring {
			if i == 0 && t == token {
				return nil, nil
			}
		}
		if !holds(&ops[i], &row) {
			return &driver.Refusal{Op: i, Row: row}, nil
		}
		if at := overflows(&ops[i], &row); at >= 0 {
			return &driver.Refusal{Op: i, Row: row, Overflow: true, Edit: at}, nil
		}
	}
	for i := range ops {
		if ops[i].Do != driver.Check && (ops[i].Do != driver.Delete || ops[i].If != driver.Absent) {
			return nil, fmt.Errorf("the store refused %s, whose conditions hold: %w", opsText(ops), errMoved)
		}
	}
	return nil, nil
}

// errMoved says that a commit was refused although its conditions hold now.
var errMoved = errors.New("somebody else was faster")

func holds(op *driver.Op, row *driver.Row) bool {
	switch op.If {
	case driver.Absent:
		return row.Rev.IsZero()
	case driver.Present:
		return !row.Rev.IsZero() && !row.Dead
	case driver.AtRev:
		return !row.Rev.IsZero() && row.Rev == op.Rev
	}
	return true
}

// overflows returns the place of the first edit of op that cannot be done, or -1.
func overflows(op *driver.Op, row *driver.Row) int {
	for i, e := range op.Edits {
		if e.Do != driver.Add {
			continue
		}
		have := fieldOf(row, e)
		a, b := have.Int(), e.Value.Int()
		if sum := a + b; !have.IsNone() && have.Kind() != driver.Int || (a < 0) == (b < 0) && (sum < 0) != (a < 0) {
			return i
		}
	}
	return -1
}

// fieldOf returns the value of a row that an edit means.
func fieldOf(row *driver.Row, e driver.Edit) driver.Value {
	if e.Field >= 0 && e.Field < len(row.Fields) {
		return row.Fields[e.Field]
	}
	for _, p := range row.Extra {
		if e.Field < 0 && p.Name == e.Name {
			return p.Value
		}
	}
	return driver.Value{}
}
