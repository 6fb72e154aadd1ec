// Package fault reads what is to go wrong with a store, with its network or its server, and lets it go wrong. A list such
// as cut@5s:2s and the URL of a store come in; a proxy that does the faults, and when each of them was, go out.
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

// A Fault is something that goes wrong with the network, or with the server, for a time.
type Fault struct {
	Kind  string        // cut, freeze, slow, kill or pause
	At    time.Duration // from the beginning of the phase
	For   time.Duration // of kill: until the server is started again, 0 is at once
	Delay time.Duration // of slow: each way
}

// String returns the fault as it is written in a list.
func (f Fault) String() string {
	text := fmt.Sprintf("%s@%v", f.Kind, f.At)
	if f.For > 0 {
		text += fmt.Sprintf(":%v", f.For)
	}
	if f.Kind == slow {
		text += fmt.Sprintf(":%v", f.Delay)
	}
	return text
}

const (
	slow = "slow"
	kill = "kill"
)

// kinds are what is done for each fault, and how the fault is written.
var kinds = map[string]struct {
	form       string
	proxy      toxic.Kind // does it to the network, where it is no None
	begin, end func(Server) error
}{
	"cut":    {form: "cut@AT:FOR", proxy: toxic.Cut},
	"freeze": {form: "freeze@AT:FOR", proxy: toxic.Hold},
	slow:     {form: "slow@AT:FOR:DELAY", proxy: toxic.Delay},
	kill:     {form: "kill@AT or kill@AT:FOR", begin: Server.Kill, end: Server.Start},
	"pause":  {form: "pause@AT:FOR", begin: Server.Pause, end: Server.Resume},
}

const forms = "cut@AT:FOR, freeze@AT:FOR, slow@AT:FOR:DELAY, kill@AT or pause@AT:FOR, with times as in 1.5s"

// A Server is one that can be killed.
type Server interface {
	Kill() error   // ends it at once, and returns when it has ended
	Start() error  // starts it again on the data that it left; it need not answer yet
	Pause() error  // lets it stand still
	Resume() error // and go on
}

// OfServer reports whether the fault is one of the server, and not of the network.
func (f Fault) OfServer() bool { return kinds[f.Kind].begin != nil }

// Kills reports whether the server ends.
func (f Fault) Kills() bool { return f.Kind == kill }

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
	if f.Kind == kill && len(parts) == 1 {
		times = times[:1]
	}
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
		case d > limit.MaxPhase:
			return Fault{}, fmt.Errorf("%q in the fault %q is more than %v; let it be less", part, text, limit.MaxPhase)
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
// are not among them. The proxy is nil where there are only faults of the server, and the server where there are none.
func Do(ctx context.Context, p *toxic.Proxy, server Server, faults []Fault, start time.Time) (spans []Span, err error) {
	for _, f := range faults {
		if !toxic.Sleep(ctx, time.Until(start.Add(f.At))) {
			return spans, nil
		}
		s := Span{Fault: f, From: time.Since(start)}
		if err = f.begin(p, server); err != nil {
			return spans, err
		}
		goesOn := toxic.Sleep(ctx, time.Until(start.Add(f.end())))
		s.To = time.Since(start)
		if err = f.over(p, server); err != nil {
			return spans, err
		}
		if spans = append(spans, s); !goesOn {
			return spans, nil
		}
	}
	return spans, nil
}

func (f Fault) begin(p *toxic.Proxy, server Server) error {
	kind := kinds[f.Kind]
	if f.OfServer() {
		return kind.begin(server)
	}
	p.Set(toxic.Fault{Kind: kind.proxy, Time: f.Delay})
	return nil
}

func (f Fault) over(p *toxic.Proxy, server Server) error {
	if f.OfServer() {
		return kinds[f.Kind].end(server)
	}
	p.Heal()
	return nil
}
