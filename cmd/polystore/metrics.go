package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/polystore/polystore/loadtest"
)

// metrics are what Prometheus is told of a run. examples/grafana/load.json shows them.
type metrics struct {
	registry   *prometheus.Registry
	operations *prometheus.CounterVec
	response   *prometheus.HistogramVec
	lag        *prometheus.HistogramVec
}

func newMetrics() *metrics {
	times := prometheus.ExponentialBuckets(50e-6, 2, 19) // 50 µs to 13 s
	m := &metrics{
		registry: prometheus.NewRegistry(),
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "polystore_load_operations_total",
			Help: "Operations that ended, by how they did."}, []string{"store", "model", "query", "outcome"}),
		response: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "polystore_load_response_seconds",
			Help: "Time of an operation from when it was due to its answer.", Buckets: times}, []string{"store", "model", "query"}),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "polystore_load_clock_lag_seconds",
			Help: "Time by which the load tool sent an operation late.", Buckets: times}, []string{"store", "model"}),
	}
	m.registry.MustRegister(m.operations, m.response, m.lag, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(o *loadtest.Observation) {
	m.operations.WithLabelValues(o.Store, o.Model, o.Query, o.Outcome).Inc()
	m.response.WithLabelValues(o.Store, o.Model, o.Query).Observe(o.Response.Seconds())
	m.lag.WithLabelValues(o.Store, o.Model).Observe(o.Lag.Seconds())
}

func handlerOf(m *metrics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry}))
	return mux
}

// serve answers Prometheus at an address until stop is called.
func (m *metrics) serve(address string, stderr io.Writer) (stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, usageError("load: --metrics: %w", err)
	}
	s := &http.Server{Handler: handlerOf(m), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(stderr, "metrics are no longer served:", err)
		}
	}()
	fmt.Fprintf(stderr, "metrics: http://%s/metrics\n", l.Addr())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // for an answer under way
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
		<-ended
	}, nil
}
