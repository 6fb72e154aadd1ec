package repo

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Tracer is told when operations and requests begin and end, by the goroutines that do them, many
// at once. Its functions must return quickly. Either function may be nil, and may return a nil
// function. A panic in a function is recovered: it ends the tracing of that operation or request,
// and nothing else. Package polyotel, in the module in folder otel, makes spans and metrics of
// OpenTelemetry.
type Tracer struct {
	// Begin is called when an operation begins, with the context of the operation; the Event then
	// has its first four fields. Begin returns a context derived from the given one; the whole
	// operation uses it. Begin also returns a function, which is called once, when the operation
	// ends; a loop also ends by a break, a panic or runtime.Goexit.
	Begin func(ctx context.Context, e Event) (context.Context, func(Event))

	// Request is called when an operation sends something to the store's server in one go: a
	// statement, or a pipeline of Batch commands. Ctx is the context of the operation. The returned
	// function is called when the answer is there, with Depth, Requests, Err and Took. Retries of
	// the client are counted; Requests is 0 if nothing was sent. Backends that work in this
	// process, and backends without Facts.Tallies, have no requests.
	Request func(ctx context.Context, e Event) func(Event)
}

// An Event is an operation, or a request of an operation. It holds no key and no value of a record,
// except in Err; [Options.Redact] removes them there, too.
type Event struct {
	Op         string // "get", "find", "insert", …
	Collection string // of a group over several collections their names in order, with + between them; "" if all are meant
	Store      string // Facts.Name of the backend
	Namespace  string // Facts.Namespace: a database or keyspace
	Batch      int    // commands of a request; at the end of an operation the number of keys or writes that its caller gave

	Index string // that answered a query; "" if the records themselves did

	// Depth and Requests count what the backend sent: round trips, one after the other, and the
	// commands or statements in them. Every page of a long query, and every retry, counts at least
	// one of each. Where a backend does not tell (Facts.Tallies), or works in this process, they
	// count its calls: one trip for a range, for a read by keys and for a commit, and one request
	// for a range, for each key and for a commit.
	Depth    int
	Requests int

	Conflicts int // refused commits: another writer was faster, or a record was there, or was not there
	Retries   int // attempts of the operation after refused commits
	Rows      int // rows that the store returned
	Records   int // records that the caller got
	Err       error
	Took      time.Duration // of a loop including the time of its body
}

// Kind says in one word how the operation or request ended: "" is success; "unknown_outcome",
// "not_found", "timeout", "canceled" and so on are errors of this package; "panic" is a panic of
// the caller's own function or loop; "_OTHER" is any other error.
func (e Event) Kind() string {
	switch {
	case e.Err == nil:
		return ""
	case errors.Is(e.Err, store.ErrPanicked):
		return "panic"
	}
	return failure.Kind(e.Err)
}

// systems are names by OpenTelemetry that differ from those of backends.
var systems = map[string]string{"mongo": "mongodb"}

// Attributes yields the facts of e under the names of OpenTelemetry's conventions for databases;
// other facts have names "polystore.…". Values are strings and ints; empty and 0 values are left
// out. No attribute is, or contains, a key or a value of a record, or the text of an error.
func (e Event) Attributes() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		system := e.Store
		if name, ok := systems[system]; ok {
			system = name
		}
		batch := e.Batch
		if batch < 2 { // of which the conventions say that it is no batch
			batch = 0
		}
		for _, a := range []struct {
			name string
			text string
			n    int
		}{
			{"db.system.name", system, 0},
			{"db.namespace", e.Namespace, 0},
			{"db.operation.name", e.Op, 0},
			{"db.collection.name", e.Collection, 0},
			{"db.operation.batch.size", "", batch},
			{"db.response.returned_rows", "", e.Records},
			{"error.type", e.Kind(), 0},
			{"polystore.index", e.Index, 0},
			{"polystore.depth", "", e.Depth},
			{"polystore.requests", "", e.Requests},
			{"polystore.conflicts", "", e.Conflicts},
			{"polystore.retries", "", e.Retries},
			{"polystore.rows_read", "", e.Rows},
		} {
			switch {
			case a.text != "":
				if !yield(a.name, a.text) {
					return
				}
			case a.n != 0:
				if !yield(a.name, a.n) {
					return
				}
			}
		}
	}
}

// told returns the tracer as the layers below have it, nil if there is none.
func (s *Store) told() *store.Tracer {
	t, out := &s.tracer, store.Tracer{}
	if t.Begin != nil {
		out.Begin = s.beginTrace
	}
	if t.Request != nil {
		out.Request = s.traceRequest
	}
	if t.Begin == nil && t.Request == nil {
		return nil
	}
	return &out
}

func (s *Store) event(op, collection string, batch int) Event {
	f := &s.handle.Facts
	return Event{Op: op, Collection: collection, Store: f.Name, Namespace: f.Namespace, Batch: batch}
}

func (s *Store) beginTrace(ctx context.Context, op, collection string) (
	within context.Context, end func(store.Cost, error),
) {
	within = ctx
	defer func() {
		if recover() != nil {
			within, end = ctx, nil
		}
	}()
	given := ctx
	if ctx == nil { // which is refused, and traced
		given = context.Background()
	}
	e := s.event(op, collection, 0)
	traced, told := s.tracer.Begin(given, e)
	if ctx != nil && traced != nil {
		within = traced
	}
	if told == nil {
		return within, nil
	}
	return within, func(c store.Cost, err error) {
		defer func() { _ = recover() }() // what was done was done
		e.Index, e.Batch, e.Depth, e.Requests = c.Index, c.Batch, c.Depth, c.Requests
		e.Conflicts, e.Retries, e.Rows, e.Records = c.Conflicts, c.Retries, c.Rows, c.Records
		e.Err, e.Took = err, c.Took
		told(e)
	}
}

func (s *Store) traceRequest(ctx context.Context, op, collection string, commands int) (
	end func(depth, requests int, err error),
) {
	defer func() {
		if recover() != nil {
			end = nil
		}
	}()
	e, began := s.event(op, collection, commands), time.Now()
	told := s.tracer.Request(ctx, e)
	if told == nil {
		return nil
	}
	return func(depth, requests int, err error) {
		defer func() { _ = recover() }()
		if err != nil { // a server's text may hold anything
			err = s.Redact(driver.Hide(err, "request failed: "+failure.Kind(err)))
		}
		e.Depth, e.Requests, e.Err, e.Took = depth, requests, err, time.Since(began)
		told(e)
	}
}
