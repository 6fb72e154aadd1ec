package mongo_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// Ops that only say that rows are as they were read share one update, in which each row has its own Rev.
func TestTouches(t *testing.T) {
	t.Parallel()
	const rows = 70 // more than one update takes
	sc := newScribe(t)
	s, ts := sc.s, sc.ts
	revs := make([]driver.Token, rows)
	op := func(i int, do driver.Verb, cond driver.Cond) driver.Op {
		id := strings.Repeat("$_id", i%3) + string(rune('A'+i)) // which is no expression
		return driver.Op{Do: do, If: cond, Rev: revs[i], Table: ts.Posts, Row: driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "ann", id)}}
	}
	commit := func(what string, refused int, ops ...driver.Op) driver.Token {
		t.Helper()
		token := driver.NewToken()
		refusal, err := s.Commit(t.Context(), token, ops)
		if err != nil || (refusal != nil) != (refused >= 0) || refusal != nil && refusal.Op != refused {
			t.Fatalf("%s: %+v, %v; want that op %d is refused", what, refusal, err, refused)
		}
		return token
	}
	var all []driver.Op
	for i := range revs {
		all = append(all, op(i, driver.Put, driver.Absent))
	}
	put := commit("put all", -1, all...)
	all = nil
	for i := range revs {
		revs[i] = put
		all = append(all, op(i, driver.Fence, driver.AtRev))
	}
	sc.r.take(t)
	fenced := commit("fence all", -1, all...)
	keys, pairs := bson.A{}, bson.A{}
	for i := range 64 {
		id := all[i].Row.Key.Partition + all[i].Row.Key.Sort
		keys, pairs = append(keys, id), append(pairs, bson.A{id, binaryOf(revs[i])})
	}
	if got := sc.r.take(t)[0][:2]; !cmp.Equal(got, sc.statement("mongo/touch", bson.M{"table": "posts", "keys": keys, "revs": pairs, "token": binaryOf(fenced)})) {
		t.Errorf("sent %v", got)
	}
	commit("fence all by what was read before", 0, all...)
	revs[0], revs[1], revs[2] = fenced, fenced, fenced
	revs[1] = commit("put one of them", -1, op(1, driver.Put, driver.AtRev))
	revs[2] = revs[0]
	both := commit("put two", -1, op(0, driver.Put, driver.AtRev), op(2, driver.Put, driver.AtRev))
	revs[2] = both // and revs[0] is what was read before
	commit("one has the Rev that the other should have", 0, op(0, driver.Fence, driver.AtRev), op(2, driver.Fence, driver.AtRev))
	commit("the same of checks", 1, op(1, driver.Check, driver.AtRev), op(0, driver.Check, driver.AtRev), op(2, driver.Check, driver.AtRev))
	revs[0] = both
	last := commit("fence three", -1, op(0, driver.Fence, driver.AtRev), op(1, driver.Fence, driver.AtRev), op(2, driver.Fence, driver.AtRev))
	revs[0], revs[1], revs[2] = last, last, last
	commit("check and fence", -1, op(0, driver.Check, driver.AtRev), op(1, driver.Check, driver.AtRev), op(2, driver.Fence, driver.AtRev))
}
