// Package polyotel makes spans and metrics of OpenTelemetry of what a [repo.Store] does.
//
//	store := repo.NewStore(backend, &repo.Options{Tracer: polyotel.Tracer(nil, nil)})
package polyotel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/polystore/polystore/repo"
)

const scope = "github.com/polystore/polystore/otel/polyotel"

// A teller tells OpenTelemetry of operations.
type teller struct {
	tracer             trace.Tracer
	duration           metric.Float64Histogram
	conflicts, retries metric.Int64Counter
}

// Tracer returns what goes into [repo.Options]. Nil providers are the global ones of package otel.
//
// An operation is a span of kind client, named by operation and collection, as "find posts". What it sends to a
// server is a span "request" below it, of the same kind. Both have the attributes of [repo.Event.Attributes]. An
// error sets error.type and the status, whose description is the kind of the error and never its text. ErrNotFound,
// ErrExists and ErrConflict leave the status alone: they are answers.
//
// The metrics are db.client.operation.duration, and the counters polystore.conflicts and polystore.retries.
func Tracer(traces trace.TracerProvider, metrics metric.MeterProvider) repo.Tracer {
	if traces == nil {
		traces = otel.GetTracerProvider()
	}
	if metrics == nil {
		metrics = otel.GetMeterProvider()
	}
	t, meter := teller{tracer: traces.Tracer(scope)}, metrics.Meter(scope)
	var errs [3]error
	t.duration, errs[0] = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of operations of repositories."),
		metric.WithExplicitBucketBoundaries(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10))
	t.conflicts, errs[1] = meter.Int64Counter("polystore.conflicts", metric.WithUnit("{conflict}"),
		metric.WithDescription("Commits that were refused."))
	t.retries, errs[2] = meter.Int64Counter("polystore.retries", metric.WithUnit("{retry}"),
		metric.WithDescription("Attempts after a conflict."))
	for _, err := range errs {
		if err != nil {
			otel.Handle(err)
		}
	}
	return repo.Tracer{Begin: t.begin, Request: t.request}
}

func (t *teller) begin(ctx context.Context, e repo.Event) (context.Context, func(repo.Event)) {
	name := e.Op
	if e.Collection != "" {
		name += " " + e.Collection
	}
	ctx, span := t.start(ctx, name, e)
	return ctx, func(e repo.Event) {
		finish(span, e)
		t.measure(ctx, e)
	}
}

func (t *teller) request(ctx context.Context, e repo.Event) func(repo.Event) {
	if !trace.SpanFromContext(ctx).IsRecording() { // that of the operation
		return nil
	}
	_, span := t.start(ctx, "request", e)
	return func(e repo.Event) { finish(span, e) }
}

func (t *teller) start(ctx context.Context, name string, e repo.Event) (context.Context, trace.Span) {
	attributes := trace.WithAttributes(attributesOf(e, nil)...)
	return t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), attributes)
}

// finish ends a span with what is known of its end.
func finish(span trace.Span, e repo.Event) {
	if span.IsRecording() {
		span.SetAttributes(attributesOf(e, nil)...)
		if kind := e.Kind(); !answers[kind] {
			span.SetStatus(codes.Error, kind)
		}
	}
	span.End()
}

// answers are the kinds of ends that are no failure.
var answers = map[string]bool{"": true, "not_found": true, "exists": true, "conflict": true}

// metered are the attributes by which metrics are told apart. They have few values.
var metered = map[string]bool{
	"db.system.name": true, "db.namespace": true, "db.operation.name": true, "db.collection.name": true,
	"error.type": true,
}

func (t *teller) measure(ctx context.Context, e repo.Event) {
	by := metric.WithAttributeSet(attribute.NewSet(attributesOf(e, metered)...))
	t.duration.Record(ctx, e.Took.Seconds(), by)
	if e.Conflicts > 0 {
		t.conflicts.Add(ctx, int64(e.Conflicts), by)
	}
	if e.Retries > 0 {
		t.retries.Add(ctx, int64(e.Retries), by)
	}
}

// attributesOf returns the attributes of an event; wanted, unless it is nil, has the names of those to return.
func attributesOf(e repo.Event, wanted map[string]bool) []attribute.KeyValue {
	list := make([]attribute.KeyValue, 0, 12)
	for name, value := range e.Attributes() {
		if wanted != nil && !wanted[name] {
			continue
		}
		switch v := value.(type) {
		case string:
			list = append(list, attribute.String(name, v))
		case int:
			list = append(list, attribute.Int(name, v))
		}
	}
	return list
}
