package api

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A witness is a store that notes the record of the last commit.
type witness struct {
	driver.Store
	op driver.Op
}

func (w *witness) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	w.op = ops[0]
	return w.Store.Commit(ctx, token, ops)
}

// agoToken returns a token that was made some time ago.
func agoToken(d time.Duration) driver.Token {
	token := driver.NewToken()
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(time.Now().Add(-d).UnixMilli()))
	copy(token[:6], ms[2:])
	return token
}

// resolveOnTombstone writes a record often and deletes it, as of some minutes ago, so that its
// ring is full of other tokens than that of an insert.
func resolveOnTombstone(ctx context.Context, e *env) {
	w := &witness{Store: &double.Lossy{Store: e.Store}} // of which outcomes can be unknown, so that there is a ring
	schema := itemSchema()
	schema.Collection = e.FreshName()
	items, err := repo.Open[item](ctx, repo.NewStore(w, nil), schema)
	e.OK("open", err)
	it := e.item("a")
	e.OK("insert", items.Insert(ctx, &it))
	e.OK("delete", items.Delete(ctx, e.itemKey("a")))
	table, dead := w.op.Table, driver.Row{Key: w.op.Row.Key, Dead: true, Expires: time.Now().Add(9 * time.Minute).UnixMilli()}
	for _, ago := range []time.Duration{9, 8, 7, 6} {
		refusal, err := e.Store.Commit(ctx, agoToken(ago*time.Minute), []driver.Op{{Do: driver.Put, Table: table, Row: dead}})
		e.That(err == nil && refusal == nil, "a commit with an older token", "%v, refusal %v", err, refusal != nil)
	}
	for _, tt := range []struct {
		sent time.Duration
		want repo.Verdict
	}{{5*time.Minute + 30*time.Second, repo.Unknown}, {3 * time.Minute, repo.NotCommitted}} {
		var o repo.Outcome
		e.OK("unmarshal", o.UnmarshalText(fmt.Appendf(nil, `{"collection":%q,"partition":%q,"sort":%q,"token":"%s","based":true}`,
			schema.Collection, dead.Key.Partition, dead.Key.Sort, agoToken(tt.sent))))
		got, err := items.Resolve(ctx, &o)
		e.OK("resolve", err)
		rule.Equal(e, fmt.Sprintf("the verdict on an insert that was sent %s ago, after a delete of six minutes ago", tt.sent), got, tt.want)
	}
	later, err := repo.Open[item](ctx, repo.NewStore(&double.Lossy{Store: e.Store}, &repo.Options{Now: func() time.Time { return time.Now().Add(14 * time.Minute) }}), schema)
	e.OK("open", err)
	_, err = later.Maintain(ctx)
	e.OK("maintain", err)
	insert := driver.Op{Do: driver.Put, Table: table, If: driver.Absent, Row: driver.Row{Key: dead.Key}}
	refusal, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{insert})
	e.That(err == nil && refusal != nil, "a late copy of the insert to be refused", "%v", err)
}
