package series_test

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/series"
)

// A Temperature is a point of a sensor. All points of an hour lie in one record.
type Temperature struct {
	At      time.Time `repo:"at"`
	Celsius float64   `repo:"celsius"`
}

func (t Temperature) Time() time.Time { return t.At }

func Example() {
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	sensors, err := series.Open[Temperature](ctx, store, series.Schema{Collection: "temperatures", Span: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for minute := range 90 {
		if err := sensors.Append(ctx, "roof", Temperature{noon.Add(time.Duration(minute) * time.Minute), 5 + float64(minute)/10}); err != nil {
			fmt.Println(err)
			return
		}
	}
	newest, err := sensors.Newest(ctx, "roof", 2)
	fmt.Println(newest[0].Celsius, newest[1].Celsius, err)
	for s, err := range sensors.Summarize(ctx, "roof", noon, noon.Add(2*time.Hour), 30*time.Minute, func(t Temperature) float64 { return t.Celsius }) {
		fmt.Printf("%s: %d points, %.2f on average, %.1f to %.1f %v\n", s.Start.Format(time.TimeOnly), s.Count, s.Mean(), s.Min, s.Max, err)
	}
	// Output:
	// 13.9 13.8 <nil>
	// 12:00:00: 30 points, 6.45 on average, 5.0 to 7.9 <nil>
	// 12:30:00: 30 points, 9.45 on average, 8.0 to 10.9 <nil>
	// 13:00:00: 30 points, 12.45 on average, 11.0 to 13.9 <nil>
}
