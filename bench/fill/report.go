package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A report is what was measured on one store.
type report struct {
	store   string
	loaded  int
	loading float64 // records a second
	rate    string  // of the filling beside writes

	full           seen    // at full speed
	whole          float64 // seconds from Open to Ready
	took           usage
	load           string
	byHand         float64 // records a second, of
	handled        int
	cpu, server    time.Duration // of processors, of this process and of the server
	records, found int           // that were walked, and counted by the index

	beside                          seen // writes
	before, again, meanwhile, after spell
}

func (r *report) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n| | |\n|---|---|\n", r.store)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	line("records, loaded a second", "%d, %.0f", r.loaded, r.loading)
	line("filled at full speed, a second", "%.0f (%.1f s; from Open to Ready %.1f s; load %s)",
		float64(r.records)/r.full.seconds(), r.full.seconds(), r.whole, r.load)
	if r.handled > 0 {
		line("filled by hand, a second", "%.0f (%d records): by the library %.2f of that", r.byHand, r.handled, float64(r.records)/r.full.seconds()/r.byHand)
	}
	each := func(d time.Duration) string {
		return (d / time.Duration(r.records)).Round(100 * time.Nanosecond).String()
	}
	line("processor time a record", "%s, and of the server %s", each(r.cpu), each(r.server))
	line("memory beyond that of before", "heap %.1f MiB, resident %.1f MiB", mib(r.took.heap), mib(r.took.resident))
	line("records, and those found by the index", "%d, %d", r.records, r.found)
	line("filled beside writes, a second", "%.0f (%s; %.1f s)", float64(r.beside.records)/r.beside.seconds(), r.rate, r.beside.seconds())
	for _, s := range []struct {
		name string
		*spell
	}{{"before", &r.before}, {"before, again", &r.again}, {"meanwhile", &r.meanwhile}, {"when it is ready", &r.after}} {
		line("writes "+s.name, "p50 %s, p99 %s, longest %s (%d; load %s)", short(s.p50), short(s.p99), short(s.longest), s.writes, s.loadavg)
	}
	p50, p99 := (r.before.p50+r.again.p50)/2, (r.before.p99+r.again.p99)/2
	line("meanwhile, by before", "p50 %.2f, p99 %.2f; again, by before: p99 %.2f", ratio(r.meanwhile.p50, p50), ratio(r.meanwhile.p99, p99), ratio(r.again.p99, r.before.p99))
	_, err := io.WriteString(w, b.String())
	return err
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// loadavg returns how busy the machine was in the last minute, as Linux tells it.
func loadavg() string {
	data, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
