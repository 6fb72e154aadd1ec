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

// A Tracer is told of operations and requests when they begin and when they end, by the goroutines that do
// them: many at once. Its functions must return quickly. Either may be nil, and may return a nil function. A panic
// of theirs ends what they trace and nothing else. Package polyotel, in the module of folder otel, makes spans and
// metrics of OpenTelemetry.
type Tracer struct {
	// Begin is called when an operation begins, with its context; at that moment an Event has its first four
	// fields. The context that it returns, made of that one, is that of all the operation does. The function
	// that it returns is called once, when the operation ends: a loop also by a break, a panic or
	// runtime.Goexit.
	Begin func(ctx context.Context, e Event) (context.Context, func(Event))

	// Request is called when an operation sends something to the store's server in one go: a statement, or a
	// pipeline of Batch commands. The context is of the operation. The function that it returns is called when
	// the answer is there, with Depth, Requests, Err and Took: what the client had to send again is counted, and
	// Requests is 0 if nothing was sent. Backends that work in this process, and those that do not tell
	// (Facts.Tallies), have no requests.
	Request func(ctx context.Context, e Event) func(Event)
}

// An Event is an operation, or one of its requests. It has no key and no value of a record, but for Err, in which
// [Options.Redact] leaves them out.
type Event struct {
	Op         string // "get", "find", "insert", …
	Collection string // of a group over several: their names in order, with + between them; "" of all
	Store      string // Facts.Name of the backend
	Namespace  string // Facts.Namespace: a database or keyspace
	Batch      int    // commands of a request; at the end of an operation the keys or writes that its caller gave

	Index string // that answered a query; "" if it was the records themselves

	// Depth and Requests are what the backend sent: round trips made one after the other,
	// and commands or statements in them. Every page of a long query is at least one of
	// either, and so is what is sent again. Where a backend does not tell (Facts.Tallies), or sends nothing
	// because it works in this process, they are its calls: one trip for a range, for a read by
	// keys and for a commit, and one request for a range, for each key and for a commit.
	Depth    int
	Requests int

	Conflicts int // commits that were refused, as somebody else was faster or a record was there, or not
	Retries   int // attempts that the operation made after these
	Rows      int // rows that the store returned
	Records   int // records that the caller got
	Err       error
	Took      time.Duration // of a loop with the time that its body took
}

// Kind says in one word how what e tells of ended: "" well, "unknown_outcome", "not_found", "timeout",
// "canceled" and so on for the errors of this package, "panic" by a panic of the caller's own function or loop,
// "_OTHER" by another error.
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

// Attributes yields what e tells under the names of OpenTelemetry's conventions for databases, and what these do
// not have as "polystore.…". Values are texts and ints; those that are empty or 0 are left out. None is, or
// contains, a key or a value of a record, or the text of an error.
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
			err = s.redact(driver.Hide(err, "request failed: "+failure.Kind(err)))
		}
		e.Depth, e.Requests, e.Err, e.Took = depth, requests, err, time.Since(began)
		told(e)
	}
}
