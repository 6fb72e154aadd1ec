package polyotel_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/otel/polyotel"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

// A telling store is a server's, as far as a tracer sees: it has a request for each call.
type telling struct{ driver.Store }

func (s telling) Facts() driver.Facts {
	f := s.Store.Facts()
	f.Name, f.Namespace, f.Tallies = "mongo", "shop", true
	return f
}

func (s telling) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	sent := driver.TallyOf(ctx).Begin(ctx, len(keys))
	err := s.Store.Get(ctx, t, keys, mask, rows)
	sent.End(1, len(keys), err)
	return err
}

func (s telling) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	driver.TallyOf(ctx).Begin(ctx, 1).End(1, 1, nil)
	return s.Store.Range(ctx, span)
}

func (s telling) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	sent := driver.TallyOf(ctx).Begin(ctx, 1)
	refusal, err := s.Store.Commit(ctx, token, ops)
	sent.End(1, 1, err)
	return refusal, err
}

type order struct {
	Shop  string `repo:"shop"`
	ID    int64  `repo:"id"`
	State string `repo:"state"`
	Note  string `repo:"note"`
}

// A bench has orders on a store with rules, and what was told of them.
type bench struct {
	store  *repotest.Store
	orders *repo.Repo[order]
	traces *sdktrace.TracerProvider
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	b.traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(b.spans))
	meters := metric.NewMeterProvider(metric.WithReader(b.reader))
	var err error
	if b.store, err = repotest.New(memory.New(nil), &repotest.Options{Uncertain: true}); err != nil {
		t.Fatal(err)
	}
	store := repo.NewStore(telling{b.store}, &repo.Options{Tracer: polyotel.Tracer(b.traces, meters)})
	t.Cleanup(func() { store.Close() })
	b.orders, err = repo.Open[order](t.Context(), store, repo.Schema{Collection: "orders", Partition: []string{"shop"},
		Sort: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"state"}, Sort: []string{"id"}, Kind: "table"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := b.orders.Insert(t.Context(), &order{Shop: "secret", ID: int64(i), State: "secret"}); err != nil {
			t.Fatal(err)
		}
	}
	b.spans.Reset()
	return b
}

func (b *bench) rules(t *testing.T, rules ...repotest.Rule) {
	t.Helper()
	if err := b.store.Set(rules...); err != nil {
		t.Fatal(err)
	}
}

// attributes returns those of a span as text.
func attributes(list []attribute.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range list {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

func TestSpans(t *testing.T) {
	b := newBench(t)
	ctx, mine := b.traces.Tracer("mine").Start(t.Context(), "mine")
	if _, err := repo.Collect(b.orders.Find(ctx, repo.Where("state", "secret").Limit(2))); err != nil {
		t.Fatal(err)
	}
	mine.End()
	spans := b.spans.GetSpans() // in the order of their ends
	if len(spans) != 4 {
		t.Fatalf("spans %v", names(spans))
	}
	find, requests := spans[2], spans[:2]
	if find.Name != "find orders" || find.SpanKind != trace.SpanKindClient || find.Status.Code != codes.Unset || find.Parent.SpanID() != spans[3].SpanContext.SpanID() {
		t.Errorf("the operation is %+v", find)
	}
	want := map[string]string{"db.system.name": "mongodb", "db.namespace": "shop", "db.operation.name": "find", "db.collection.name": "orders",
		"db.response.returned_rows": "2", "polystore.index": "by_state_id", "polystore.depth": "2", "polystore.requests": "3", "polystore.rows_read": "4"}
	if got := attributes(find.Attributes); !maps.Equal(got, want) {
		t.Errorf("its attributes are %v, want %v", got, want)
	}
	for _, r := range requests {
		if r.Name != "request" || r.SpanKind != trace.SpanKindClient || r.Parent.SpanID() != find.SpanContext.SpanID() || r.Parent.TraceID() != find.SpanContext.TraceID() {
			t.Errorf("a request is %+v", r)
		}
	}
	want = map[string]string{"db.system.name": "mongodb", "db.namespace": "shop", "db.operation.name": "find", "db.collection.name": "orders",
		"db.operation.batch.size": "2", "polystore.depth": "1", "polystore.requests": "2"}
	if got := attributes(requests[1].Attributes); !maps.Equal(got, want) {
		t.Errorf("the attributes of a request are %v, want %v", got, want)
	}
}

func names(spans tracetest.SpanStubs) (list []string) {
	for _, s := range spans {
		list = append(list, s.Name)
	}
	return list
}

// Failures have a status and the kind of their error, answers only the kind, and none its text.
func TestErrors(t *testing.T) {
	b := newBench(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	key := repo.Key{"secret", 1}
	insert := func(ctx context.Context, id int64) error {
		return b.orders.Insert(ctx, &order{Shop: "secret", ID: id, State: "secret"})
	}
	for _, tt := range []struct {
		do     func() error
		err    error
		kind   string
		status codes.Code
	}{
		{func() error { _, err := b.orders.Get(t.Context(), repo.Key{"secret", 9}); return err }, repo.ErrNotFound, "not_found", codes.Unset},
		{func() error { return insert(t.Context(), 1) }, repo.ErrExists, "exists", codes.Unset},
		{func() error { _, err := b.orders.Get(ended, key); return err }, context.Canceled, "canceled", codes.Error},
		{func() error {
			b.rules(t, repotest.Rule{On: repotest.Commit, Fault: repotest.LostAnswer}, repotest.Rule{On: repotest.Get, Fault: repotest.Unavailable})
			defer b.rules(t)
			return insert(t.Context(), 7)
		}, repo.ErrUnknownOutcome, "unknown_outcome", codes.Error},
		{func() error {
			_, err := b.orders.One(t.Context(), repo.Where("shop", "secret").Where("state", "x"))
			return err
		}, repo.ErrNoIndex, "no_index", codes.Error},
	} {
		b.spans.Reset()
		if err := tt.do(); !errors.Is(err, tt.err) || !strings.Contains(err.Error(), "secret") && tt.kind != "no_index" {
			t.Errorf("%v, want %v with a key in its text", err, tt.err)
		}
		spans := b.spans.GetSpans()
		op := spans[len(spans)-1]
		if got := attributes(op.Attributes)["error.type"]; got != tt.kind || op.Status.Code != tt.status {
			t.Errorf("%s: error.type %q, status %v, want %q, %v", op.Name, got, op.Status, tt.kind, tt.status)
		}
		if told := fmt.Sprint(spans); strings.Contains(told, "secret") {
			t.Errorf("%s tells a key: %s", op.Name, told)
		}
	}
}

// Of many operations at once each has its own requests and its own caller.
func TestParentsOfMany(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			ctx, mine := b.traces.Tracer("mine").Start(t.Context(), fmt.Sprint("mine ", i))
			defer mine.End()
			if err := b.orders.Put(ctx, &order{Shop: fmt.Sprint(i), State: "new"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	spans := b.spans.GetSpans()
	parents := map[trace.SpanID]tracetest.SpanStub{}
	for _, s := range spans {
		parents[s.SpanContext.SpanID()] = s
	}
	below := map[string]int{}
	for _, s := range spans {
		switch over := parents[s.Parent.SpanID()]; s.Name {
		case "request":
			if above := parents[over.Parent.SpanID()]; over.Name != "put orders" || !strings.HasPrefix(above.Name, "mine ") || above.SpanContext.TraceID() != s.SpanContext.TraceID() {
				t.Errorf("a request is below %q and %q", over.Name, above.Name)
			}
		case "put orders":
			below[over.Name]++
		}
	}
	if len(below) != 100 || slices.Max(slices.Collect(maps.Values(below))) != 1 || len(spans) < 400 {
		t.Errorf("of %d spans these callers have operations: %v", len(spans), below)
	}
}

// collected returns the metrics: the count of durations by operation and error, and the counters.
func (b *bench) collected(t *testing.T) (durations map[string]uint64, sums map[string]int64) {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := b.reader.Collect(t.Context(), &data); err != nil || len(data.ScopeMetrics) != 1 {
		t.Fatalf("%d scopes, %v", len(data.ScopeMetrics), err)
	}
	durations, sums = map[string]uint64{}, map[string]int64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				of := attributes(p.Attributes.ToSlice())
				if of["db.system.name"] != "mongodb" || of["db.namespace"] != "shop" || p.Sum <= 0 || m.Unit != "s" || p.Bounds[0] != 0.001 {
					t.Errorf("%s, in %s: %+v", m.Name, m.Unit, p)
				}
				durations[strings.TrimSpace(m.Name+" "+of["db.operation.name"]+" "+of["db.collection.name"]+" "+of["error.type"])] = p.Count
			}
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				sums[m.Name+" "+attributes(p.Attributes.ToSlice())["db.operation.name"]] = p.Value
			}
		}
	}
	return durations, sums
}

func TestMetrics(t *testing.T) {
	b := newBench(t)
	b.rules(t, repotest.Rule{On: repotest.Commit, Nth: 1, Fault: repotest.Conflict}, repotest.Rule{On: repotest.Commit, Nth: 2, Fault: repotest.Conflict})
	if _, err := b.orders.Update(t.Context(), repo.Key{"secret", 1}, func(o *order) error { o.State = "done"; return nil }); err != nil {
		t.Fatal(err)
	}
	_, _ = b.orders.Get(t.Context(), repo.Key{"secret", 9})
	durations, sums := b.collected(t)
	const name = "db.client.operation.duration "
	if want := map[string]uint64{name + "open orders": 1, name + "insert orders": 3, name + "update orders": 1, name + "get orders not_found": 1}; !maps.Equal(durations, want) {
		t.Errorf("durations %v, want %v", durations, want)
	}
	if want := map[string]int64{"polystore.conflicts update": 2, "polystore.retries update": 2}; !maps.Equal(sums, want) {
		t.Errorf("counters %v, want %v", sums, want)
	}
}

// Without providers it is those of package otel, which do nothing until they are set.
func TestGlobalProviders(t *testing.T) {
	store := repo.NewStore(memory.New(nil), &repo.Options{Tracer: polyotel.Tracer(nil, nil)})
	defer store.Close()
	if err := repo.DropCollection(t.Context(), store, "none"); err != nil {
		t.Error(err)
	}
}
