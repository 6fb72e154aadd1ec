package mongo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// A trial has a server that can be told to fail.
type trial struct {
	t     *testing.T
	s     *mongo.Store
	ts    *backendtest.Tables
	url   string
	admin *mongodriver.Database
	n     int
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	server, s, ts := own(t)
	return &trial{t: t, s: s, ts: ts, url: server.URL, admin: raw(t, server.URL).Database("admin")}
}

// fail makes the next commands of a name fail, or all of them if times is 0, in the way
// that data says.
func (tr *trial) fail(times int, command string, data ...any) {
	tr.t.Helper()
	var mode any = "alwaysOn"
	if times > 0 {
		mode = d("times", times)
	}
	do(tr.t, tr.admin, d("configureFailPoint", "failCommand", "mode", mode, "data", append(d("failCommands", bson.A{command}), d(data...)...)))
}

func (tr *trial) heal() {
	tr.t.Helper()
	do(tr.t, tr.admin, d("configureFailPoint", "failCommand", "mode", "off"))
}

// one returns the op that inserts a new record, several those with its index rows.
func (tr *trial) one() []driver.Op { return tr.several()[:1] }

func (tr *trial) several() []driver.Op {
	tr.n++
	return tr.ts.Insert(tr.t, "ann", string(rune('a'+tr.n)))
}

// ended commits ops and sees how that ends; when the trouble is over the same commit,
// sent again, is done.
func (tr *trial) ended(ctx context.Context, what string, ops []driver.Op, want error, there bool) {
	tr.t.Helper()
	token := driver.NewToken()
	refusal, err := tr.s.Commit(ctx, token, ops)
	if refusal != nil || !errors.Is(err, want) || want == nil && err != nil {
		tr.t.Errorf("%s: %v, %v, want %v", what, refusal, err, want)
	}
	if want != driver.ErrUnknownOutcome && errors.Is(err, driver.ErrUnknownOutcome) {
		tr.t.Errorf("%s: the outcome is unknown", what)
	}
	tr.heal()
	// What was on its way when the context ended, a slow server may do after it was healed. What no majority has yet, a
	// read of one does not show.
	for n := 0; there && ctx.Err() == nil && n < 500 && tr.ts.There(tr.t, tr.s, tr.ts.Posts, ops[0].Row.Key) == 0; n++ {
		time.Sleep(10 * time.Millisecond)
	}
	if n := tr.ts.There(tr.t, tr.s, tr.ts.Posts, ops[0].Row.Key); (n == 1) != there && ctx.Err() == nil {
		tr.t.Errorf("%s: %d records are there, want one: %v", what, n, there)
	}
	if refusal, err := tr.s.Commit(tr.t.Context(), token, ops); refusal != nil || err != nil {
		tr.t.Errorf("%s, sent again: %v, %v", what, refusal, err)
	}
	if n := tr.ts.There(tr.t, tr.s, tr.ts.Posts, ops[0].Row.Key); n != 1 {
		tr.t.Errorf("%s, sent again: %d records are there, want one", what, n)
	}
}

// A statement that is interrupted has an unknown outcome unless the server says that it
// refused it.
func TestOutcomesOfStatements(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	unknown := driver.ErrUnknownOutcome
	for _, tt := range []struct {
		what  string
		data  []any
		want  error
		there bool
	}{
		{"a connection that is closed", []any{"closeConnection", true}, unknown, false},
		{"a server that shuts down", []any{"errorCode", 91}, unknown, false},
		{"an interruption by a new primary", []any{"errorCode", 11602}, unknown, false},
		{"a time limit", []any{"errorCode", 50}, unknown, false},
		{"an error that nobody knows", []any{"errorCode", 4242}, unknown, false},
		{"a write that no majority has", []any{"writeConcernError", d("code", 91, "errmsg", "shutting down")}, unknown, true},
		{"no primary", []any{"errorCode", 10107}, driver.ErrUnavailable, false},
		{"a full disk", []any{"errorCode", 14031}, driver.ErrFull, false},
		{"a user who may not", []any{"errorCode", 13}, driver.ErrInvalid, false},
		{"a server that has too much to do", []any{"errorCode", 462, "errorLabels", bson.A{"SystemOverloadedError"}}, driver.ErrThrottled, false},
		{"a conflict that the server did not settle", []any{"errorCode", 112}, nil, true},
	} {
		tr.fail(1, "insert", tt.data...)
		tr.ended(t.Context(), tt.what, tr.one(), tt.want, tt.there)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	tr.fail(1, "insert", "blockConnection", true, "blockTimeMS", 500)
	ops := tr.one()
	if _, err := tr.s.Commit(ctx, driver.NewToken(), ops); !errors.Is(err, unknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that is late: %v, want ErrUnknownOutcome and DeadlineExceeded", err)
	}
}

// Before its commit a transaction has done nothing, whatever happens. The commit is
// sent again; when nobody knows whether it was done, that is said.
func TestOutcomesOfTransactions(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	unknown := driver.ErrUnknownOutcome
	late := []any{"writeConcernError", d("code", 91, "errmsg", "shutting down")}
	transient := bson.A{"TransientTransactionError"}
	for _, tt := range []struct {
		what    string
		times   int
		command string
		data    []any
		want    error
		there   bool
	}{
		{"statement: a connection that is closed", 1, "insert", []any{"closeConnection", true}, driver.ErrUnavailable, false},
		{"statement: a server that shuts down", 1, "insert", []any{"errorCode", 91}, nil, true},
		{"statement: conflicts", 3, "insert", []any{"errorCode", 112, "errorLabels", transient}, nil, true},
		{"statement: a full disk", 1, "insert", []any{"errorCode", 14031}, driver.ErrFull, false},
		{"commit: a connection that is closed once", 1, "commitTransaction", []any{"closeConnection", true}, nil, true},
		{"commit: connections that are closed", 0, "commitTransaction", []any{"closeConnection", true}, unknown, false},
		{"commit: undone by another", 1, "commitTransaction", []any{"errorCode", 251, "errorLabels", transient}, nil, true},
		{"commit: too large for the server's cache", 1, "commitTransaction", []any{"errorCode", 388}, driver.ErrTooLarge, false},
		{"commit: no majority for a while", 2, "commitTransaction", late, nil, true},
		{"commit: no majority", 0, "commitTransaction", late, unknown, true},
		{"commit: an error that nobody knows", 0, "commitTransaction", []any{"errorCode", 4242}, unknown, false},
	} {
		tr.fail(tt.times, tt.command, tt.data...)
		begun, most := time.Now(), 20*time.Second
		if tt.times == 0 { // it goes on until the context ends
			most = 2 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), most)
		tr.ended(ctx, tt.what, tr.several(), tt.want, tt.there)
		cancel()
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%s: it took %s until it was done", tt.what, took)
		}
	}
}

// A transaction that was given up does not lock its rows until the server forgets it.
func TestUnknownTransactionLocksNothing(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	ops := tr.several()
	tr.fail(0, "commitTransaction", "errorCode", 4242)
	if _, err := tr.s.Commit(t.Context(), driver.NewToken(), ops); !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Fatalf("%v, want ErrUnknownOutcome", err)
	}
	tr.heal()
	backendtest.MustCommit(t, tr.s, ops[:1]) // it is given up after ten seconds, the transaction after a minute
}

// A server that was told in vain, or before a statement that was under way, to undo a
// transaction is told once more: by a store that goes on, and by one that is closed.
func TestUndoneOnceMore(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{false, true} {
		tr := newTrial(t)
		do(t, tr.admin, d("configureFailPoint", "failCommand", "mode", "alwaysOn",
			"data", d("failCommands", bson.A{"commitTransaction", "killSessions"}, "errorCode", 4242)))
		if _, err := tr.s.Commit(t.Context(), driver.NewToken(), tr.several()); !errors.Is(err, driver.ErrUnknownOutcome) {
			t.Fatalf("%v, want ErrUnknownOutcome", err)
		}
		time.Sleep(100 * time.Millisecond) // until it was told for the first time
		if n := tr.transactions(); n != 1 {
			t.Fatalf("%d transactions are open, want the one that was given up", n)
		}
		tr.heal()
		if closes {
			if err := tr.s.Close(); err != nil {
				t.Error(err)
			}
		}
		n := backendtest.Await(func() int {
			if !closes {
				key := backendtest.KeyOf(t, tr.ts.Posts, "ann", "1")
				if err := tr.s.Get(t.Context(), tr.ts.Posts, []driver.Key{key}, nil, make([]driver.Row, 1)); err != nil {
					t.Error(err)
				}
			}
			return tr.transactions()
		})
		if n != 0 {
			t.Errorf("%d transactions are open on the server; the store was closed: %v", n, closes)
		}
	}
}

// transactions returns how many are open on the server.
func (tr *trial) transactions() int {
	tr.t.Helper()
	reply := do(tr.t, tr.admin, d("aggregate", 1, "cursor", bson.D{}, "pipeline", bson.A{
		d("$currentOp", d("idleSessions", true)), d("$match", d("transaction", d("$exists", true)))}))
	list, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		tr.t.Fatal(err)
	}
	return len(list)
}

// Each code that the server may answer is the error that says what it means: of a read,
// and of a write, whose outcome is known only where nothing can have been done.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	unknown, unavailable := driver.ErrUnknownOutcome, driver.ErrUnavailable
	key := backendtest.KeyOf(t, tr.ts.Posts, "ann", "1")
	for _, tt := range []struct {
		want, ofWrite error
		codes         []int
	}{
		{driver.ErrInternal, driver.ErrInternal, []int{2, 14}},              // a wrong statement of this package
		{driver.ErrInvalid, driver.ErrInvalid, []int{13, 15, 18, 73, 8000}}, // 121: TestCollectionsOfOtherPrograms,
		{driver.ErrUnsupported, driver.ErrUnsupported, []int{20, 59, 238, 263}},
		{driver.ErrSchema, driver.ErrSchema, []int{166}},
		{driver.ErrTooLarge, driver.ErrTooLarge, []int{257, 388, 10334, 17280, 17419, 17420}},
		{driver.ErrFull, driver.ErrFull, []int{14031}},
		{driver.ErrThrottled, driver.ErrThrottled, []int{462}},
		{unavailable, unavailable, []int{251, 10107, 13435, 13436}},
		{unavailable, unknown, []int{91, 189, 262, 11600, 11601, 11602}},
		{driver.ErrTimeout, unknown, []int{50}},
		{driver.ErrInternal, unknown, []int{4242}},
	} {
		for _, code := range tt.codes {
			tr.fail(1, "insert", "errorCode", code)
			_, err := tr.s.Commit(t.Context(), driver.NewToken(), tr.one())
			if !errors.Is(err, tt.ofWrite) || tt.ofWrite != unknown && errors.Is(err, unknown) {
				t.Errorf("a write that is answered with %d: %v, want %v", code, err, tt.ofWrite)
			}
			tr.fail(2, "find", "errorCode", code) // a read may be sent twice
			if err := tr.s.Get(t.Context(), tr.ts.Posts, []driver.Key{key}, nil, make([]driver.Row, 1)); !errors.Is(err, tt.want) {
				t.Errorf("a read that is answered with %d: %v, want %v", code, err, tt.want)
			}
			tr.heal()
		}
	}
}

// What only reads is sent again once, and an outage is never an absence.
func TestReadingInTrouble(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	backendtest.MustCommit(t, tr.s, tr.ts.Insert(t, "ann", "1"))
	get := func(ctx context.Context) error {
		var rows [1]driver.Row
		err := tr.s.Get(ctx, tr.ts.Posts, []driver.Key{backendtest.KeyOf(t, tr.ts.Posts, "ann", "1")}, nil, rows[:])
		if err == nil && rows[0].Rev.IsZero() {
			t.Error("the record is gone")
		}
		return err
	}
	for _, tt := range []struct {
		what  string
		times int
		data  []any
		want  error
	}{
		{"a connection that is closed once", 1, []any{"closeConnection", true}, nil},
		{"connections that are closed", 0, []any{"closeConnection", true}, driver.ErrUnavailable},
		{"no primary", 0, []any{"errorCode", 10107}, driver.ErrUnavailable},
		{"a user who may not", 1, []any{"errorCode", 13}, driver.ErrInvalid},
		{"a time limit", 1, []any{"errorCode", 50}, driver.ErrTimeout},
		{"an error that nobody knows", 1, []any{"errorCode", 4242}, driver.ErrInternal},
	} {
		tr.fail(tt.times, "find", tt.data...)
		if err := get(t.Context()); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", tt.what, err, tt.want)
		}
		tr.heal()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	tr.fail(1, "find", "blockConnection", true, "blockTimeMS", 500)
	if err := get(ctx); !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that is late: %v, want ErrTimeout and DeadlineExceeded", err)
	}
}

// Two transactions on one record: one waits for the other's end and is done, too.
func TestConflictingTransactions(t *testing.T) {
	t.Parallel()
	s, ts, db := shared(t)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	session, err := db.Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(t.Context())
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	_, err = db.Collection("posts").UpdateOne(mongodriver.NewSessionContext(t.Context(), session), d("_id", annOne), d("$set", d("views", int64(7))))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		ops := append(ts.Add(t, "ann", "1"), ts.Insert(t, "ann", "2")...)
		refusal, err := s.Commit(context.WithoutCancel(t.Context()), driver.NewToken(), ops)
		if refusal != nil {
			t.Errorf("refused: %+v", refusal)
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("the commit ended while another transaction had its record: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := session.CommitTransaction(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := ts.Views(t, s, "ann", "1"); n != 8 {
		t.Errorf("%d views, want 8", n)
	}
}
