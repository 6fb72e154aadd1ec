package loadtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
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
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	r, err := repo.Open[map[string]any](b.Context(), store, repo.Schema{
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
	bn := &bench{clock: &machineClock{}, rate: rate, slots: 64, grace: time.Second}
	for b.Loop() {
		cpu := cpuTime()
		took := bn.run(b.Context(), 3*rate, func(ctx context.Context, i int) (int, outcome) {
			_, err := r.Get(ctx, repo.Key{i % records})
			return 0, outcomeOf(ctx, err)
		})
		var lag, clock []int64
		for i, s := range bn.samples {
			lag = append(lag, s.lag)
			clock = append(clock, bn.due[i]-int64(bn.instant(i)))
		}
		b.ReportMetric(float64(percentile(clock, 50).Nanoseconds())/1e3, "clock-p50-µs")
		b.ReportMetric(float64(percentile(clock, 99).Nanoseconds())/1e3, "clock-p99-µs")
		b.ReportMetric(float64(percentile(lag, 50).Nanoseconds())/1e3, "lag-p50-µs")
		b.ReportMetric(float64(percentile(lag, 99).Nanoseconds())/1e3, "lag-p99-µs")
		b.ReportMetric((cpuTime()-cpu).Seconds()/took.Seconds(), "cores")
	}
}
