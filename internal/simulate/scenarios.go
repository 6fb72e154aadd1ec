package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Scenarios returns the small scenarios, for runs of every interleaving: those whose
// indexes lie with the records, on a store that changes one partition at a time, or
// those with remote indexes.
func Scenarios(scope driver.Scope, remote bool) []Scenario {
	one := []Op{{Do: Insert, Key: "a", Kind: "k1", Mail: "m1"}}
	find := []Op{{Do: Find, Kind: "k1"}}
	list := []Scenario{
		{Name: "insert beside lookup", Index: true, Clients: [][]Op{{{Do: Insert, Key: "a", Kind: "k1"}}, find}},
		{Name: "two inserts of one key", Index: true, Clients: [][]Op{{{Do: Insert, Key: "a", Kind: "k1"}}, {{Do: Insert, Key: "a", Kind: "k2"}}}},
		{Name: "two inserts of one mail", Unique: true, Clients: [][]Op{{{Do: Insert, Key: "a", Mail: "m1"}}, {{Do: Insert, Key: "b", Mail: "m1"}}}},
		{Name: "move beside lookup", Index: true, Before: one, Clients: [][]Op{{{Do: Move, Key: "a", Kind: "k2"}}, find}},
		{Name: "move there and back beside lookup", Index: true, Before: one,
			Clients: [][]Op{{{Do: Update, Key: "a", Kind: "k2"}, {Do: Update, Key: "a", Kind: "k1"}}, find}},
		{Name: "two updates", Index: true, Before: one, Clients: [][]Op{{{Do: Update, Key: "a", N: 1}}, {{Do: Update, Key: "a", N: 2, Kind: "k2"}}}},
		{Name: "two patches", Before: one, Clients: [][]Op{{{Do: Patch, Key: "a", N: 1}}, {{Do: Patch, Key: "a", N: 2}}}},
		{Name: "two blind patches", Before: one, Clients: [][]Op{{{Do: Blind, Key: "a", N: 1}}, {{Do: Blind, Key: "a", N: 2}}}},
		{Name: "patch beside delete", Before: one, Clients: [][]Op{{{Do: Patch, Key: "a", N: 1}}, {{Do: Blind, Key: "a", N: 2}, {Do: Delete, Key: "a"}}}},
		{Name: "update beside delete", Index: true, Before: one, Clients: [][]Op{{{Do: Update, Key: "a", N: 1, Kind: "k2"}}, {{Do: Delete, Key: "a"}}}},
		{Name: "mail changes hands", Unique: true, Before: one, Clients: [][]Op{{{Do: Update, Key: "a", Mail: "m2"}}, {{Do: Insert, Key: "b", Mail: "m1"}}}},
		{Name: "mails are swapped", Unique: true, Before: append(one, Op{Do: Insert, Key: "b", Mail: "m2"}),
			Clients: [][]Op{{{Do: Update, Key: "a", Mail: "m2"}}, {{Do: Update, Key: "b", Mail: "m1"}}}},
		{Name: "delete and insert again", Index: true, Unique: true, Before: one,
			Clients: [][]Op{{{Do: Delete, Key: "a"}, {Do: Insert, Key: "a", Kind: "k2", Mail: "m1"}}, {{Do: One, Mail: "m1"}}}},
		{Name: "put beside put", Index: true, Unique: true, Clients: [][]Op{{{Do: Put, Key: "a", Kind: "k1", Mail: "m1"}}, {{Do: Put, Key: "a", Kind: "k2", Mail: "m1"}}}},
		{Name: "replace and delete as seen", Index: true, Before: one,
			Clients: [][]Op{{{Do: Get, Key: "a"}, {Do: Replace, Key: "a", Kind: "k2", Seen: true}}, {{Do: Get, Key: "a"}, {Do: Delete, Key: "a", Seen: true}}}},
		{Name: "insert beside maintain", Index: true, Unique: true, Leaps: []time.Duration{20 * time.Minute},
			Clients: [][]Op{{{Do: Insert, Key: "a", Kind: "k1", Mail: "m1"}}, {{Do: Maintain}}}},
		{Name: "insert beside a sweep", Index: true, Leaps: []time.Duration{time.Minute}, // as long as a sweeper waits, and a commit may take
			Clients: [][]Op{{{Do: Insert, Key: "a", Kind: "k1"}}, {{Do: Maintain}}}},
		{Name: "get beside a renewal", Expires: true, Leaps: []time.Duration{2 * time.Hour},
			Before:  []Op{{Do: Insert, Key: "a", Expires: soon}},
			Clients: [][]Op{{{Do: Get, Key: "a"}}, {{Do: Update, Key: "a", Expires: 5 * time.Hour}}}},
		{Name: "get beside a late insert", Expires: true, Leaps: []time.Duration{2 * time.Hour}, // that of a record that has expired
			Clients: [][]Op{{{Do: Get, Key: "a"}}, {{Do: Get, Key: "b"}, {Do: Insert, Key: "a", Expires: soon}}}},
		{Name: "insert, delete and maintain", Leaps: []time.Duration{20 * time.Minute},
			Clients: [][]Op{{{Do: Insert, Key: "a", N: 1}}, {{Do: Delete, Key: "a"}}, {{Do: Maintain}}}},
		{Name: "insert as late as a tombstone lasts", Index: true, Leaps: []time.Duration{retention},
			Clients: [][]Op{{{Do: Insert, Key: "a", Kind: "k1"}}, {{Do: Insert, Key: "a", Kind: "k2"}, {Do: Delete, Key: "a"}, {Do: Maintain}}}},
		{Name: "mail of one that expired", Index: true, Unique: true, Expires: true, Leaps: []time.Duration{2 * time.Hour},
			Before:  []Op{{Do: Insert, Key: "a", Kind: "k1", Mail: "m1", Expires: soon}},
			Clients: [][]Op{{{Do: Insert, Key: "b", Kind: "k1", Mail: "m1"}}, {{Do: Put, Key: "a", Kind: "k1", Mail: "m1"}}}},
		{Name: "mail of one that expired, in vain", Unique: true, Expires: true, Leaps: []time.Duration{2 * time.Hour},
			Before:  []Op{{Do: Insert, Key: "a", Mail: "m1", Expires: soon}},
			Clients: [][]Op{{{Do: Insert, Key: "b", Mail: "m1"}}, {{Do: Insert, Key: "b"}, {Do: Insert, Key: "a", Mail: "m1"}}}},
		{Name: "three clients", Unique: true, Before: one,
			Clients: [][]Op{{{Do: Delete, Key: "a"}}, {{Do: Insert, Key: "b", Mail: "m1"}}, {{Do: One, Mail: "m1"}}}},
	}
	list = append(list, groupScenarios()...)
	for i := range list {
		list[i].Scope, list[i].Remote, list[i].Faults, list[i].Switches = scope, remote, 1, -1
		list[i].Resolve = true
	}
	return list
}

// groupScenarios are those of groups of two collections, which check one and write the other, or write both.
func groupScenarios() []Scenario {
	return []Scenario{
		{Name: "a key is closed or taken", Index: true, Closes: true,
			Clients: [][]Op{{{Do: Insert, Key: "a", Kind: "k1", Open: true}}, {{Do: Close, Key: "a"}}}},
		{Name: "a key is closed when its record is gone", Index: true, Unique: true, Closes: true,
			Before:  []Op{{Do: Insert, Key: "a", Kind: "k1", Mail: "m1"}},
			Clients: [][]Op{{{Do: Delete, Key: "a"}, {Do: Put, Key: "a", Kind: "k2", Mail: "m1", Open: true}}, {{Do: Close, Key: "a"}}}},
		{Name: "a key is closed when its record has expired", Expires: true, Closes: true, Leaps: []time.Duration{2 * time.Hour},
			Before:  []Op{{Do: Insert, Key: "a", Expires: soon}},
			Clients: [][]Op{{{Do: Put, Key: "a", Open: true}}, {{Do: Close, Key: "a"}}}},
		{Name: "a record goes and its key is closed", Index: true, Closes: true,
			Before:  []Op{{Do: Insert, Key: "a", Kind: "k1"}},
			Clients: [][]Op{{{Do: Delete, Key: "a", Both: true}}, {{Do: Update, Key: "a", Kind: "k2"}}}},
		{Name: "a key is opened for two records", Unique: true, Closes: true,
			Before:  []Op{{Do: Close, Key: "a"}},
			Clients: [][]Op{{{Do: Insert, Key: "a", Mail: "m1", Both: true}}, {{Do: Insert, Key: "a", Mail: "m2", Both: true}}}},
		{Name: "a key is opened for the mail of another", Unique: true, Closes: true,
			Before:  []Op{{Do: Close, Key: "a"}, {Do: Insert, Key: "b", Mail: "m1"}},
			Clients: [][]Op{{{Do: Insert, Key: "a", Mail: "m1", Both: true}}, {{Do: Update, Key: "b", Mail: "m2"}}}},
	}
}

// soon is when records expire, a moment at which no client looks.
const soon = time.Hour + tick/2

// RandomScenario draws what a few clients do.
func RandomScenario(r *rand.Rand) Scenario {
	s := Scenario{
		Name: "random", Index: r.IntN(3) > 0, Unique: r.IntN(2) == 0, Expires: r.IntN(4) == 0,
		Scope: driver.ScopePartition, Remote: r.IntN(2) == 0, Fine: r.IntN(2) == 0,
		Resolve: r.IntN(2) == 0, Faults: r.IntN(5), Switches: -1,
	}
	for _, d := range []time.Duration{time.Minute, 6 * time.Minute, 20 * time.Minute, 2 * time.Hour, retention} {
		if r.IntN(6) == 0 {
			s.Leaps = append(s.Leaps, d)
		}
	}
	if s.Remote && s.Accepts() != nil {
		s.Scope = driver.ScopeStore
	}
	s.Closes = !s.Expires && r.IntN(3) == 0 // an Update may begin before a record expires, and renew it when its key is closed
	keys := 1 + r.IntN(len(Keys))
	for i := range keys {
		if r.IntN(2) == 0 {
			s.Before = append(s.Before, s.randomOp(r, []Verb{Insert}, keys))
			s.Before[len(s.Before)-1].Key = Keys[i]
			if s.Before[len(s.Before)-1].Mail != "" {
				s.Before[len(s.Before)-1].Mail = "m" + string(rune('0'+i))
			}
		}
	}
	verbs := []Verb{Insert, Insert, Put, Replace, Update, Update, Patch, Blind, Move, Move, Delete, Delete, Get, Find, Find, One, Maintain}
	if s.Closes {
		verbs = append(verbs, Close, Insert, Delete)
	}
	s.Clients = make([][]Op, 2+r.IntN(3))
	for i := range s.Clients {
		for range 1 + r.IntN(4) {
			s.Clients[i] = append(s.Clients[i], s.randomOp(r, verbs, keys))
		}
	}
	return s
}

// randomOp draws one call.
func (s *Scenario) randomOp(r *rand.Rand, verbs []Verb, keys int) Op {
	op := Op{Do: verbs[r.IntN(len(verbs))], Key: Keys[r.IntN(keys)]}
	op.Kind, op.Mail = [...]string{"k0", "k1", "k2"}[r.IntN(3)], [...]string{"m0", "m1", "m2"}[r.IntN(3)]
	switch {
	case op.Do == Find && !s.Index, op.Do == One && !s.Unique:
		op = Op{Do: Get, Key: op.Key}
	case op.Do == Find:
		op.Key, op.Mail = "", ""
	case op.Do == One:
		op.Key, op.Kind = "", ""
	case !op.Do.writes(), op.Do == Delete, op.Do == Patch, op.Do == Blind:
		op.Kind, op.Mail = "", ""
	case r.IntN(3) == 0:
		op.Mail = ""
	}
	if op.Do.writes() && op.Do != Delete {
		op.N = 1 + r.Int64N(9)
	}
	if s.Expires && op.Do.writes() && op.Do != Delete && op.Do != Patch && op.Do != Blind && r.IntN(2) == 0 {
		op.Expires = soon
	}
	if s.Closes && (op.Do == Insert || op.Do == Put) { // else it writes a record whose key is closed
		op.Both = r.IntN(2) == 0
		op.Open = !op.Both
	}
	op.Both = op.Both || s.Closes && op.Do == Delete && r.IntN(2) == 0
	op.Seen = op.Do != Insert && op.Do != Blind && op.Do.writes() && r.IntN(3) == 0
	return op
}
