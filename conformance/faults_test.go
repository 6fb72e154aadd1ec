package conformance

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

// A fault breaks a store in one way.
type fault func(b *broken)

// faults returns, for each rule, a fault that breaks it.
func faults() map[string]fault {
	all := map[string]fault{}
	for _, m := range []map[string]fault{keyFaults(), recordFaults(), conditionFaults(), indexFaults(), queryFaults(), lifeFaults(), tableFaults(), versionFaults(), outcomeFaults(), exampleFaults(), blindFaults(), treeFaults()} {
		maps.Copy(all, m)
	}
	return all
}

// otherFaults are faults of rules that have one in faults: other ways to break them, by what
// the store does.
func otherFaults() map[string]map[string]fault {
	return map[string]map[string]fault{
		"records and fields/texts": {"takes a byte order mark away": valueFault(textsAs(withoutMark))},
		"errors and limits/loop that is cancelled": {
			"ends a range quietly":              quietly(afterSteps(0), true, false),
			"ends a range quietly after a page": quietly(afterSteps(1000), true, false),
			"ends a walk quietly":               quietly(afterSteps(0), false, true),
			"counts what it has seen": func(b *broken) {
				b.count = func(ctx context.Context, s driver.Span) (int, error) {
					n, err := b.Store.Count(context.WithoutCancel(ctx), s)
					time.Sleep(time.Millisecond)
					if ctx.Err() != nil {
						n /= 2
					}
					return n, err
				}
			},
		},
		"groups/large group": {
			"hides what was deleted": together(uncertain(), gotFault(func(_ *driver.Table, r *driver.Row) {
				if r.Dead {
					*r = driver.Row{Key: r.Key}
				}
			})),
		},
		"groups/largest group": {
			"does it in two commits":       together(bound(300), inTwo(200)),
			"refuses it":                   together(bound(300), tooLarge(299)),
			"has no bound when asked anew": forgetsBound(300),
			"has a bound below zero":       bound(-1),
			"says that there is no bound":  together(bound(0), tooLarge(1500)),
			"does a part, without a bound": together(bound(0), few(1500)),
		},
		"groups/longest group": {
			"refuses it":                   together(boundBytes(1<<20), tooLarge(2)),
			"has no bound when asked anew": forgetsBytes(1 << 20),
			"has a bound below zero":       boundBytes(-1),
			"does a part, without a bound": few(5),
		},
		"close/loops under way": {
			"ends a range quietly": quietly(afterClose, true, false),
			"ends a walk quietly":  quietly(afterClose, false, true),
		},
		"walk and scan/last mark": {
			"knows no mark after which there is nothing": nothingAfter(knowsNoMark),
		},
		"records and fields/bytes":              {"takes a byte order mark away": valueFault(textsAs(withoutMark))},
		"records and fields/dead":               {"forgets it in a get of several": forgetsDead, "leaves its fields": opFault(outlivesDeath)},
		"keys and order/later pages":            laterFaults(),
		"keys and order/empty text":             {"leaves it out of walks": walksPastEmpty},
		"conditions/readers at once":            {"shows rows one by one": rowByRow},
		"conditions/checks alone":               {"forgets the last of several": withoutLastCheck},
		"conditions/many ops":                   {"forgets Revs": revsOfFew},
		"conditions/overflow":                   {"wraps an undeclared field": patchFault(wrapsUndeclared)},
		"conditions/edits of undeclared fields": {"takes a dollar away": patchFault(noDollar)},
		"conditions/patch meta":                 {"forgets it beside an unset": opFault(forgetsMeta)},
		"outcomes/short deadlines":              {"does a part, of unknown outcome": halfUnknown},
		"catalog and schema/drop":               {"goes on after its end": dropsTwice},
	}
}

// TestOtherFaults sees that each of them is found by its rule.
func TestOtherFaults(t *testing.T) {
	byID := map[string]rule.Rule{}
	for _, r := range rules() {
		byID[r.ID()] = r
	}
	for id, list := range otherFaults() {
		for what, f := range list {
			t.Run(id+" "+what, func(t *testing.T) {
				t.Parallel()
				r, ok := byID[id]
				if !ok {
					t.Fatal("there is no such rule")
				}
				m, ok := errors.AsType[*finding.Mismatch](tried(t, &r, f))
				if !ok {
					t.Fatalf("%s\nthe rule does not notice it", r.Sentence)
				}
				if m.Want == "no panic" {
					t.Errorf("the fault makes the rule panic: %s", m.Got)
				}
			})
		}
	}
}

// scopeFor returns the commit scope of the store on which a rule is tried: the largest with
// which it has something to say.
func scopeFor(r *rule.Rule) driver.Scope {
	scope := driver.ScopeStore
	for r.Needs != nil && scope > driver.ScopeRecord {
		f := memory.New(&memory.Options{Scope: &scope}).Facts()
		f.Durability = driver.Power
		if r.Name == "remote index" {
			lacksRemote(&f)
		}
		f.OneProcess = !aboutOthers(r)
		if r.Needs(f) == "" {
			break
		}
		scope--
	}
	return scope
}

// aboutOthers reports whether a rule is about stores to which other processes may write.
func aboutOthers(r *rule.Rule) bool {
	return r.Group == rule.Handles || strings.HasSuffix(r.Name, "another program")
}

// lacksRemote makes facts those of a store that keeps indexes with their records only.
func lacksRemote(f *driver.Facts) {
	f.Remote, f.Native = driver.Ability{Reason: "not here"}, driver.Ability{Reason: "not here"}
}

// tried runs one rule on a store that a fault breaks, nil for none.
func tried(t *testing.T, r *rule.Rule, broken fault) error {
	t.Helper()
	b := newBroken(scopeFor(r))
	if r.ID() == "close/kept" {
		b.facts = func(f *driver.Facts) { f.Durability = driver.Process }
		b.close = func() error { return nil }
	}
	if r.Name == "remote index" {
		b.facts = lacksRemote
	}
	if aboutOthers(r) {
		b.facts = func(f *driver.Facts) { f.OneProcess = false }
	}
	if r.Name == "native" {
		b.facts = func(f *driver.Facts) { f.Native = driver.Ability{Reason: "not here"} }
		b.define = func(ctx context.Context, tables []*driver.Table) error {
			if tables[0].Native {
				return driver.ErrUnsupported
			}
			return b.Store.Define(ctx, tables)
		}
	}
	if broken != nil {
		broken(b)
	}
	first := true
	s, err := newSuite(t.Context(), func(context.Context) (driver.Store, error) {
		if r.Group == rule.Close && !first && r.ID() != "close/kept" {
			b.Store = newBroken(scopeFor(r)).Store
		}
		if (r.Group == rule.Handles || r.Name == "builds of another program") && !first {
			return another(b, broken), nil
		}
		first = false
		if b.hidden {
			return struct{ driver.Store }{b}, nil
		}
		return b, nil
	}, nil)
	if err != nil {
		t.Fatalf("the suite does not even begin: %v", err)
	}
	if broken != nil {
		s.Histories = 400
	}
	return s.run(t.Context(), r)
}

// another returns a second handle of a store, which the same fault breaks for itself.
func another(b *broken, fault fault) *broken {
	var closed atomic.Bool
	two := &broken{Store: b.Store, facts: b.facts}
	two.close = func() error { closed.Store(true); return nil }
	two.get = func(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
		if closed.Load() {
			return driver.ErrClosed
		}
		return two.Store.Get(ctx, t, keys, mask, rows)
	}
	if fault != nil {
		fault(two)
	}
	return two
}

// Every rule holds on the memory backend, and is found broken on the store that
// its fault breaks.
func TestFaults(t *testing.T) {
	broken := faults()
	seen := map[string]bool{}
	for _, r := range rules() {
		if seen[r.ID()] {
			t.Errorf("two rules are named %q", r.ID())
		}
		seen[r.ID()] = true
		t.Run(r.ID(), func(t *testing.T) {
			t.Parallel()
			if err := tried(t, &r, nil); err != nil {
				t.Errorf("%s\nthe store that nothing breaks: %v", r.Sentence, err)
			}
			f := broken[r.ID()]
			if f == nil {
				t.Fatal("the rule has no fault")
			}
			m, ok := errors.AsType[*finding.Mismatch](tried(t, &r, f))
			if !ok {
				t.Fatalf("%s\nthe rule does not notice its fault", r.Sentence)
			}
			if m.Want == "no panic" {
				t.Errorf("the fault makes the rule panic: %s", m.Got)
			}
		})
	}
	for id := range broken {
		if !seen[id] {
			t.Errorf("there is a fault for %q, which is no rule", id)
		}
	}
}
