// Package fault reads what is to go wrong with the network of a store, and lets it go wrong. A list such as
// cut@5s:2s and the URL of a store come in; a proxy that does the faults, and when each of them was, go out.
package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A Fault is something that goes wrong with the network for a time.
type Fault struct {
	Kind  string        // cut, freeze or slow
	At    time.Duration // from the beginning of the phase
	For   time.Duration
	Delay time.Duration // of slow: each way
}

// String returns the fault as it is written in a list.
func (f Fault) String() string {
	text := fmt.Sprintf("%s@%v:%v", f.Kind, f.At, f.For)
	if f.Kind == slow {
		text += fmt.Sprintf(":%v", f.Delay)
	}
	return text
}

const slow = "slow"

// kinds are what a proxy does for each fault, and how the fault is written.
var kinds = map[string]struct {
	kind toxic.Kind
	form string
}{
	"cut":    {toxic.Cut, "cut@AT:FOR"},
	"freeze": {toxic.Hold, "freeze@AT:FOR"},
	slow:     {toxic.Delay, "slow@AT:FOR:DELAY"},
}

const forms = "cut@AT:FOR, freeze@AT:FOR or slow@AT:FOR:DELAY, with times as in 1.5s"

// Parse reads a list of faults, with commas between them, and returns them in the order of their times.
func Parse(list string) ([]Fault, error) {
	var faults []Fault
	for text := range strings.SplitSeq(list, ",") {
		f, err := parseOne(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return int(a.At - b.At) })
	for i := 1; i < len(faults); i++ {
		if last := faults[i-1]; faults[i].At < last.end() {
			return nil, fmt.Errorf("%s begins before %s has ended, at %v; let it begin then or later", faults[i], last, last.end())
		}
	}
	return faults, nil
}

func parseOne(text string) (Fault, error) {
	name, rest, _ := strings.Cut(text, "@")
	kind, ok := kinds[name]
	if !ok {
		return Fault{}, fmt.Errorf("there is no fault %q; want %s", text, forms)
	}
	f := Fault{Kind: name}
	times := []*time.Duration{&f.At, &f.For}
	if name == slow {
		times = append(times, &f.Delay)
	}
	parts := strings.Split(rest, ":")
	if len(parts) != len(times) {
		return Fault{}, fmt.Errorf("the fault %q says not when it begins and how long it lasts; want %s, with times as in 1.5s", text, kind.form)
	}
	for i, part := range parts {
		d, err := time.ParseDuration(part)
		switch {
		case err != nil:
			return Fault{}, fmt.Errorf("%q in the fault %q is no time; want %s, with times as in 1.5s", part, text, kind.form)
		case d < 0 || d == 0 && i > 0:
			return Fault{}, fmt.Errorf("%q in the fault %q is less than it can be; want %s, where only AT may be 0s, and none is negative", part, text, kind.form)
		case d > limit.MaxRound:
			return Fault{}, fmt.Errorf("%q in the fault %q is more than %v; let it be less", part, text, limit.MaxRound)
		}
		*times[i] = d
	}
	return f, nil
}

func (f Fault) end() time.Duration { return f.At + f.For }

// Length returns how long a phase with the faults lasts. Given is how long it is to last, 0 for as long as
// stores may need to recover from the last fault.
func Length(faults []Fault, given time.Duration) (time.Duration, error) {
	end := faults[len(faults)-1].end()
	switch {
	case given == 0:
		return end + limit.RecoveryTime, nil
	case given < 0:
		return 0, fmt.Errorf("a phase with faults cannot last %v; want a time as in 30s", given)
	case given < end+limit.RecoveryWindow:
		return 0, fmt.Errorf("%s lasts until %v, and the phase with the faults until %v; give it some seconds more, in which the store can recover, as by --for %v",
			faults[len(faults)-1], end, given, end+limit.RecoveryTime)
	}
	return given, nil
}

// A Span is when a fault was there, from the beginning of the phase.
type Span struct {
	Fault
	From, To time.Duration
}

// Do lets the faults happen at their times, and returns when they were. Those that the context does not leave time for
// are not among them.
func Do(ctx context.Context, p *toxic.Proxy, faults []Fault, start time.Time) (spans []Span) {
	defer p.Heal()
	for _, f := range faults {
		if !sleep(ctx, time.Until(start.Add(f.At))) {
			return spans
		}
		p.Set(toxic.Fault{Kind: kinds[f.Kind].kind, Time: f.Delay})
		s := Span{Fault: f, From: time.Since(start)}
		goesOn := sleep(ctx, time.Until(start.Add(f.end())))
		p.Heal()
		s.To = time.Since(start)
		if spans = append(spans, s); !goesOn {
			return spans
		}
	}
	return spans
}

// sleep reports whether d passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
