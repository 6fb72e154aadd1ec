package pace

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/repo"
)

func percentile(list []int64, p float64) time.Duration {
	list = slices.Clone(list)
	slices.Sort(list)
	return time.Duration(list[min(int(p/100*float64(len(list))), len(list)-1)])
}

// BenchmarkClockLag reports how late the clock is at 10,000 operations a second
// on the memory store, and how much of a processor it takes.
func BenchmarkClockLag(b *testing.B) {
	mem := repo.NewStore(memory.New(nil), nil)
	defer mem.Close()
	r, err := repo.Open[map[string]any](b.Context(), mem, repo.Schema{
		Collection: "lag", Partition: []string{"id"}, Fields: map[string]string{"id": "int", "text": "string"}})
	if err != nil {
		b.Fatal(err)
	}
	const rate, records = 10_000, 1000
	for i := range records {
		rec := map[string]any{"id": int64(i), "text": "some text that is read and written"}
		if err := r.Insert(b.Context(), &rec); err != nil {
			b.Fatal(err)
		}
	}
	bn := &Bench{Clock: &MachineClock{}, Rate: rate, Slots: 64, Grace: time.Second}
	for b.Loop() {
		cpu := store.CPUTime()
		took := bn.Run(b.Context(), 3*rate, func(ctx context.Context, i int) (int, operation.Outcome) {
			_, err := r.Get(ctx, repo.Key{i % records})
			return 0, operation.OutcomeOf(ctx, err)
		})
		var lag, clock []int64
		for i, s := range bn.Samples {
			lag = append(lag, s.lag)
			clock = append(clock, max(bn.due[i].Load()-int64(bn.instant(i)), 0))
		}
		b.ReportMetric(float64(percentile(clock, 50).Nanoseconds())/1e3, "clock-p50-µs")
		b.ReportMetric(float64(percentile(clock, 99).Nanoseconds())/1e3, "clock-p99-µs")
		b.ReportMetric(float64(percentile(lag, 50).Nanoseconds())/1e3, "lag-p50-µs")
		b.ReportMetric(float64(percentile(lag, 99).Nanoseconds())/1e3, "lag-p99-µs")
		b.ReportMetric((store.CPUTime()-cpu).Seconds()/took.Seconds(), "cores")
	}
}

// BenchmarkFreeze reports what the freeze test asserts in simulated time: 2,000
// operations a second, and a store that stops for 1.4 s.
func BenchmarkFreeze(b *testing.B) {
	bn := &Bench{Clock: &MachineClock{}, Rate: freezeRate, Slots: 64, Grace: 10 * time.Second}
	for b.Loop() {
		start := time.Now().Add(lead)
		bn.Run(b.Context(), freezeOps, func(context.Context, int) (int, operation.Outcome) {
			if since := time.Since(start) - freezeBegin; since > 0 && since < freezeTime {
				time.Sleep(freezeTime - since)
			}
			return 0, operation.Done
		})
		var response, service []int64
		for i := range bn.Samples {
			response, service = append(response, bn.Samples[i].Response()), append(service, bn.Samples[i].service)
		}
		b.ReportMetric(float64(percentile(response, 99))/1e6, "response-p99-ms")
		b.ReportMetric(float64(percentile(service, 99))/1e6, "service-p99-ms")
	}
}
