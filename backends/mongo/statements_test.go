package mongo_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

var block = regexp.MustCompile("(?ms)^```json (mongo/[a-z-]+)\n(.*?)^```$")

// readDesign returns the statements for MongoDB that internal/gate/statements.md explains.
func readDesign(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../internal/gate/statements.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] = m[2]
	}
	return blocks
}

// fill puts values in the place of the parameters of a statement.
func fill(v any, params bson.M) any {
	switch v := v.(type) {
	case bson.D:
		for i := range v {
			v[i].Key, v[i].Value = fill(v[i].Key, params).(string), fill(v[i].Value, params)
		}
	case bson.A:
		for i := range v {
			v[i] = fill(v[i], params)
		}
	case string:
		if value, ok := params[strings.TrimPrefix(v, "?")]; ok && strings.HasPrefix(v, "?") {
			return value
		}
	}
	return v
}

// A recorder keeps the commands that a client sends.
type recorder struct {
	mu   sync.Mutex
	sent []bson.Raw
}

// started leaves out the catalog, which package repo reads beside its calls.
func (r *recorder) started(_ context.Context, e *event.CommandStartedEvent) {
	if of, _ := e.Command.Lookup("find").StringValueOK(); of == "_catalog" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, slices.Clone(e.Command))
}

// take returns what was sent since the last time, without what the client adds.
func (r *recorder) take(t *testing.T) []bson.D {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []bson.D
	for _, raw := range r.sent {
		var cmd bson.D
		if err := bson.Unmarshal(raw, &cmd); err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.DeleteFunc(cmd, func(e bson.E) bool {
			return slices.Contains([]string{"lsid", "$db", "$clusterTime", "txnNumber", "maxTimeMS"}, e.Key)
		}))
	}
	r.sent = nil
	return list
}

// A scribe has a store whose commands are compared with the design.
type scribe struct {
	t      *testing.T
	s      *mongo.Store
	ts     *backendtest.Tables
	r      *recorder
	design map[string]string
}

// newScribe opens a store on a client with settings of its own.
func newScribe(t *testing.T) *scribe {
	t.Helper()
	r := &recorder{}
	client, err := mongodriver.Connect(options.Client().ApplyURI(testserver.Shared(t, testserver.Mongo).URL).
		SetMonitor(&event.CommandMonitor{Started: r.started}).SetWriteConcern(writeconcern.Majority()).SetReadConcern(readconcern.Linearizable()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.WithoutCancel(t.Context())) })
	s, err := mongo.New(t.Context(), client, &mongo.Options{Database: "test" + driver.NewToken().String()})
	if err != nil {
		t.Fatal(err)
	}
	sc := &scribe{t, s, backendtest.NewTables(), r, readDesign(t)}
	if err := s.Define(t.Context(), sc.ts.All()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Drop(context.WithoutCancel(t.Context()), sc.ts.All()) })
	return sc
}

// statement returns a block of the design with its parameters filled in.
func (sc *scribe) statement(label string, params bson.M) bson.D {
	sc.t.Helper()
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(sc.design[label]), false, &doc); err != nil {
		sc.t.Fatalf("%s: %v", label, err)
	}
	return fill(doc, params).(bson.D)
}

func (sc *scribe) commit(token driver.Token, ops ...driver.Op) {
	sc.t.Helper()
	sc.r.take(sc.t)
	refusal, err := sc.s.Commit(sc.t.Context(), token, ops)
	if refusal != nil || err != nil {
		sc.t.Fatalf("commit: %v, %v", refusal, err)
	}
}

// same compares the commands that were sent with what the design says.
func (sc *scribe) same(what string, want ...bson.D) {
	sc.t.Helper()
	got := sc.r.take(sc.t)
	if diff := cmp.Diff(want, got); diff != "" {
		sc.t.Errorf("%s (-design +sent)\n%s", what, diff)
	}
}

func binaryOf(t driver.Token) bson.Binary { return bson.Binary{Data: t[:]} }

const annOne = "ann#1#"

// post returns the document of a post, without its ring.
func post(token driver.Token, title string) bson.D {
	return d("_id", annOne, "_rev", binaryOf(token), "author", "ann", "id", "1", "title", title)
}

// Statements of single ops are those of the design, with its concerns, whatever those
// of the client are.
func TestStatementsAreThoseOfTheDesign(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	durable := sc.statement("mongo/durable", nil)
	key := backendtest.KeyOf(t, sc.ts.Posts, "ann", "1")
	written := func(label string, params bson.M) bson.D {
		params["table"] = "posts"
		return append(sc.statement(label, params), durable...)
	}
	op := func(verb driver.Verb, cond driver.Cond, rev driver.Token, title string) driver.Op {
		return driver.Op{Do: verb, If: cond, Rev: rev, Table: sc.ts.Posts, Row: driver.Row{Key: key, Fields: []driver.Value{driver.StringValue(title)}}}
	}
	first, second, third, fourth, fifth, sixth, seventh, eighth, last := driver.NewToken(), driver.NewToken(), driver.NewToken(), driver.NewToken(), driver.NewToken(), driver.NewToken(), driver.NewToken(), driver.NewToken(), driver.NewToken()
	sc.commit(first, op(driver.Put, driver.Absent, driver.Token{}, "a"))
	sc.same("insert", written("mongo/insert", bson.M{"rows": bson.A{append(post(first, "a"), bson.E{Key: "_ring", Value: bson.A{binaryOf(first)}})}}))
	atRev := func(rev driver.Token) bson.D {
		return sc.statement("mongo/at-rev", bson.M{"key": annOne, "rev": binaryOf(rev)})
	}
	met := func(label string, token driver.Token) bson.D {
		return sc.statement(label, bson.M{"key": annOne, "token": binaryOf(token)})
	}
	sc.commit(second, op(driver.Put, driver.AtRev, first, "$b"))
	sc.same("put", written("mongo/put", bson.M{"where": atRev(first), "upsert": false, "row": post(second, "$b"), "token": binaryOf(second), "ring": int32(4)}))
	sc.commit(third, op(driver.Put, driver.Any, driver.Token{}, "c"))
	sc.same("upsert", written("mongo/put", bson.M{"where": met("mongo/any", third), "upsert": true, "row": post(third, "c"), "token": binaryOf(third), "ring": int32(4)}))
	patch := op(driver.Patch, driver.Present, driver.Token{}, "")
	patch.Edits = []driver.Edit{{Do: driver.Set, Field: backendtest.FieldTitle, Value: driver.StringValue("d")}, {Do: driver.Unset, Field: backendtest.FieldOpen},
		{Do: driver.Add, Field: backendtest.FieldViews, Value: driver.IntValue(3)}, {Do: driver.Set, Field: -1, Name: "a.b", Value: driver.BoolValue(true)}}
	sc.commit(fourth, patch)
	where := append(met("mongo/present", fourth), bson.E{Key: "$and", Value: bson.A{sc.statement("mongo/addable", bson.M{"field": "views"})}})
	sc.same("patch", written("mongo/patch", bson.M{"where": where, "set": d("_rev", binaryOf(fourth), "title", "d", "_extra.a%2Eb", true),
		"unset": d("open", ""), "add": d("views", int64(3)), "token": binaryOf(fourth), "ring": int32(4)}))
	sc.commit(fifth, op(driver.Fence, driver.AtRev, fourth, ""))
	sc.same("fence", written("mongo/fence", bson.M{"where": atRev(fourth), "token": binaryOf(fifth)}))
	sc.commit(sixth, op(driver.Check, driver.AtRev, fifth, ""))
	acknowledged := sc.statement("mongo/acknowledged", nil)
	sc.same("a check alone", append(sc.statement("mongo/get-row", bson.M{"table": "posts", "key": annOne, "mask": bson.D{}}), acknowledged...))
	ringed := op(driver.Put, driver.AtRev, fifth, "$f")
	ringed.Row.Ring = []driver.Token{} // as good as none
	sc.commit(eighth, ringed)
	sc.same("put with an empty ring", written("mongo/put", bson.M{"where": atRev(fifth), "upsert": false, "row": post(eighth, "$f"), "token": binaryOf(eighth), "ring": int32(4)}))
	ringed.Rev = eighth
	ringed.Row.Ring = []driver.Token{fourth, third, second, first}
	sc.commit(seventh, ringed)
	sc.same("put with a ring", written("mongo/put-row", bson.M{"where": atRev(eighth), "upsert": false,
		"row": append(post(seventh, "$f"), bson.E{Key: "_ring", Value: bson.A{binaryOf(seventh), binaryOf(fourth), binaryOf(third), binaryOf(second)}})}))
	sc.commit(last, op(driver.Delete, driver.AtRev, seventh, ""))
	sc.same("delete", written("mongo/delete", bson.M{"where": atRev(seventh)}))
}

// Statements of a transaction are those of the design, in the order of their first ops, and
// ops that are done in the same way share one.
func TestStatementsOfTransactions(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	ops := sc.ts.Insert(t, "ann", "1")
	again := ops[1]
	again.Row.Key = backendtest.KeyOf(t, sc.ts.ByTag, "sql", "ann", "1")
	there := driver.Op{Do: driver.Check, If: driver.Absent, Table: sc.ts.Posts, Row: driver.Row{Key: backendtest.KeyOf(t, sc.ts.Posts, "bob", "1")}}
	token := driver.NewToken()
	sc.commit(token, ops[0], ops[1], again, there)
	sent := sc.r.take(t)
	for i := range sent {
		sent[i] = slices.DeleteFunc(sent[i], func(e bson.E) bool { return e.Key == "autocommit" })
	}
	begin := bson.D{{Key: "readConcern", Value: d("level", "snapshot")}, {Key: "startTransaction", Value: true}}
	insert := sc.statement("mongo/insert", bson.M{"table": "posts", "rows": bson.A{
		append(post(token, "title of 1"), bson.E{Key: "views", Value: int64(1)}, bson.E{Key: "_ring", Value: bson.A{binaryOf(token)}})}})
	row := func(id string) bson.D {
		return d("_id", id, "_rev", binaryOf(token), "title", "title of 1", "views", int64(1))
	}
	rows := sc.statement("mongo/insert", bson.M{"table": "posts.by_tag", "rows": bson.A{row("go#ann#1#"), row("sql#ann#1#")}})
	stands := sc.statement("mongo/insert", bson.M{"table": "posts", "rows": bson.A{d("_id", "bob#1#", "_rev", binaryOf(token), "author", "bob", "id", "1")}})
	goes := sc.statement("mongo/delete", bson.M{"table": "posts", "where": d("_id", "bob#1#")})
	commit := append(d("commitTransaction", int32(1)), sc.statement("mongo/durable", nil)...)
	for i := range sent {
		slices.SortFunc(sent[i][1:], byKey)
	}
	want := []bson.D{append(insert, begin...), rows, stands, goes, commit}
	for i := range want {
		slices.SortFunc(want[i][1:], byKey)
		slices.SortFunc(concernOf(want[i]), byKey)
		slices.SortFunc(concernOf(sent[min(i, len(sent)-1)]), byKey)
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-design +sent)\n%s", diff)
	}
}

// Rows of a new record that are there all the same are replaced.
func TestRowThatIsThere(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	ops := sc.ts.Insert(t, "ann", "1")[:2]
	sc.commit(driver.NewToken(), ops[1])
	sc.r.take(t)
	token := driver.NewToken()
	sc.commit(token, ops...)
	var verbs []string
	for _, cmd := range sc.r.take(t) {
		verbs = append(verbs, cmd[0].Key)
	}
	want := []string{"insert", "insert", "insert", "update", "commitTransaction"}
	if diff := cmp.Diff(want, slices.DeleteFunc(verbs, func(v string) bool { return v == "abortTransaction" })); diff != "" {
		t.Errorf("(-want +sent)\n%s", diff)
	}
	rows := make([]driver.Row, 1)
	if err := sc.s.Get(t.Context(), sc.ts.ByTag, []driver.Key{ops[1].Row.Key}, nil, rows); err != nil || rows[0].Rev != token {
		t.Errorf("the row has the Rev %s, %v, want %s", rows[0].Rev, err, token)
	}
	put := ops[0]
	put.If, put.Rev = driver.AtRev, token
	token = driver.NewToken()
	sc.commit(token, put, ops[1])
	replaced := sc.statement("mongo/put-row", bson.M{"table": "posts.by_tag", "upsert": true,
		"where": sc.statement("mongo/any", bson.M{"key": "go#ann#1#", "token": binaryOf(token)}),
		"row":   d("_id", "go#ann#1#", "_rev", binaryOf(token), "title", "title of 1", "views", int64(1))})
	sent := sc.r.take(t)[1]
	if diff := cmp.Diff(replaced, sent[:2]); diff != "" {
		t.Errorf("row of a record that was there (-design +sent)\n%s", diff)
	}
}

// A commit that puts a record and a row whatever is there, and is sent again, was done.
func TestPutsSentAgain(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	ops := sc.ts.Insert(t, "ann", "1")[:2]
	ops[0].If = driver.Any
	token := driver.NewToken()
	sc.commit(token, ops...)
	sc.commit(token, ops...)
}

func byKey(a, b bson.E) int { return strings.Compare(a.Key, b.Key) }

func concernOf(cmd bson.D) bson.D {
	for _, e := range cmd {
		if e.Key == "writeConcern" {
			return e.Value.(bson.D)
		}
	}
	return nil
}

// What reads is that of the design, too.
func TestStatementsThatRead(t *testing.T) {
	t.Parallel()
	sc := newScribe(t)
	read := func(label string, params bson.M) bson.D {
		return append(sc.statement(label, params), sc.statement("mongo/acknowledged", nil)...)
	}
	bounds := bson.M{"from": "ann#", "to": driver.After("ann#")}
	span := driver.Span{Table: sc.ts.Posts, Key: driver.Key{Partition: "ann#"}, Limit: 7, Reverse: true, Mask: []int{backendtest.FieldViews}}
	mask := d("_rev", int32(1), "_ring", int32(1), "_dead", int32(1), "_expires", int32(1), "_note", int32(1), "views", int32(1))
	sc.r.take(t)
	if err := backendtest.Drain(sc.s.Range(t.Context(), span)); err != nil {
		t.Fatal(err)
	}
	sc.same("range of records", read("mongo/range", bson.M{"table": "posts", "where": sc.statement("mongo/live", bounds),
		"direction": int32(-1), "limit": int64(7), "mask": mask}))
	span = driver.Span{Table: sc.ts.ByTag, Key: driver.Key{Partition: "go#"}, From: "a", To: "b", Limit: 5}
	bounds = bson.M{"from": "go#a", "to": "go#b"}
	if err := backendtest.Drain(sc.s.Range(t.Context(), span)); err != nil {
		t.Fatal(err)
	}
	where := sc.statement("mongo/span", bounds)
	sc.same("range of rows", read("mongo/range", bson.M{"table": "posts.by_tag", "where": where,
		"direction": int32(1), "limit": int64(5), "mask": bson.D{}}))
	span.Limit = 0
	if _, err := sc.s.Count(t.Context(), span); err != nil {
		t.Fatal(err)
	}
	sc.same("count", read("mongo/count", bson.M{"table": "posts.by_tag", "where": where}))
	if _, err := sc.s.Size(t.Context(), sc.ts.Posts); err != nil {
		t.Fatal(err)
	}
	sc.same("size", sc.statement("mongo/size", bson.M{"table": "posts"}))
	if err := backendtest.Drain(sc.s.Walk(t.Context(), sc.ts.Posts, "")); err != nil {
		t.Fatal(err)
	}
	walk := sc.statement("mongo/walk", bson.M{"table": "posts", "mark": "", "limit": int64(256)})
	walk = append(append(walk, bson.E{Key: "batchSize", Value: int32(257)}), sc.statement("mongo/acknowledged", nil)...)
	sc.same("walk", walk)
}
