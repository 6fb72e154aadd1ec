package live

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo"
)

var (
	probes = []string{"p0", "p1", "p2"}
	still  = []string{"s0", "s1", "s2"} // that nobody writes
)

// lately is how many records, those that were written last, a reader is asked for.
const lately = 12

// latest returns the records that were written last, as they are.
func (s *scene) latest() (list []person) {
	keys := make([]repo.Key, len(s.recent))
	for i, id := range s.recent {
		keys[i] = repo.Key{home, id}
	}
	records, there, err := s.all.GetMany(s.ctx, keys)
	s.must("read records", err)
	for i, p := range records {
		if there[i] && p.N > s.n-lately && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// A question is a query by the index, and says which records match it.
type question struct {
	query   repo.Query
	matches func(person) bool
}

// questions returns what finds the records that were written last.
func (s *scene) questions() (list []question) {
	last := s.n - lately
	switch s.index.Partition[0] {
	case "kind":
		for _, kind := range []string{"a", "b"} {
			list = append(list, question{repo.Where("kind", kind).Above("n", last), func(p person) bool { return p.Kind == kind }})
		}
	case "home":
		list = append(list, question{repo.Where("home", home).Above("n", last).Order("-n"), func(person) bool { return true }})
	default:
		for n := max(1, last+1); n <= s.n; n++ { // some of them were given up
			list = append(list, question{repo.Where("n", n), func(p person) bool { return p.N == n }})
		}
	}
	return list
}

// asks sees that a reader finds the records that there are, or says that it cannot answer.
func (s *scene) asks(r *repo.Repo[person], when string, must bool) {
	list := s.latest()
	for _, q := range s.questions() {
		got, err := repo.Collect(r.Find(s.ctx, q.query))
		if err != nil {
			if must || !refusesRead(err) {
				s.fault("%s: %s: %v", when, q.query, err)
			}
			continue
		}
		for _, p := range list {
			if q.matches(p) && !slices.Contains(got, p) && !s.spoilt[p.ID] {
				s.fault("%s: missing row: %s is %s %d, and is not found so", when, p.ID, p.Kind, p.N)
			}
		}
		for _, p := range got {
			if (!slices.Contains(list, p) || !q.matches(p)) && !s.spoilt[p.ID] {
				s.fault("%s: false row: %s is found as %s %d", when, p.ID, p.Kind, p.N)
			}
		}
	}
}

// verify compares the whole index.
func (s *scene) verify(r *repo.Repo[person], when string) (rep repo.Report) {
	reports, err := r.Verify(s.ctx)
	if !s.must(when+": verify", err) {
		return rep
	}
	if len(reports) != 1 {
		s.fault("%s: verify: %d reports, want that of the index", when, len(reports))
		return rep
	}
	s.asksAll(r, when)
	rep = reports[0]
	if len(s.spoilt) == 0 && !rep.Clean() {
		s.fault("%s: verify: missing %d, false %d: %v", when, rep.Missing, rep.Stale, rep.Samples)
	}
	return rep
}

// mends lets Maintain add the rows that late writes left out. What a blind patch left of the value before stays where
// rows are trusted.
func (s *scene) mends() {
	done, err := s.newer.Maintain(s.ctx)
	if rep := s.verify(s.newer, "after an upkeep"); s.must("maintain", err) && (rep.Missing > 0 || done.Mended == 0) {
		s.fault("after an upkeep: verify: missing %d of late writes, mended %d: %v", rep.Missing, done.Mended, rep.Samples)
	}
	if done, err = s.newer.Maintain(s.ctx); s.must("maintain", err) && done.Mended > 0 {
		s.fault("an upkeep mends %d records again", done.Mended)
	}
}

// asksAll sees that a reader finds every record as it is.
func (s *scene) asksAll(r *repo.Repo[person], when string) {
	there := map[string]person{}
	for chunk, err := range s.all.Walk(s.ctx, "") {
		s.must(when, err)
		for _, p := range chunk.Items {
			there[p.ID] = p
		}
	}
	var queries []repo.Query
	switch s.index.Partition[0] {
	case "kind":
		queries = []repo.Query{repo.Where("kind", "a").Order("-n"), repo.Where("kind", "b").Order("-n"), repo.Where("kind", "still").Order("-n")}
	case "home":
		queries = []repo.Query{repo.Where("home", home).Order("-n")}
	default:
		for _, p := range there {
			queries = append(queries, repo.Where("n", p.N))
		}
	}
	seen := map[string]bool{}
	for _, q := range queries {
		for p, err := range r.Find(s.ctx, q) {
			if s.must(when, err) && there[p.ID] != p && !s.spoilt[p.ID] {
				s.fault("%s: false row: %s is found as %s %d of version %s", when, p.ID, p.Kind, p.N, p.Version)
			}
			seen[p.ID] = true
		}
	}
	for id, p := range there {
		if !seen[id] && !s.spoilt[id] && (p.Kind != "" || s.index.Partition[0] != "kind") {
			s.fault("%s: missing row: %s is %s %d, and is not found so", when, id, p.Kind, p.N)
		}
	}
}

// probe lets a program that has just been started and those that run write the same records in turn, and asks
// the index after each write.
func (s *scene) probe(st stage) {
	var indexes []repo.Index
	if st.inCatalog() {
		indexes = []repo.Index{s.index}
	}
	fresh, r, err := openOf(s.ctx, s.base, nil, setPerson, indexes)
	if !s.must(fmt.Sprint(st, ": open"), err) {
		if fresh, r, err = openOf(s.ctx, s.base, nil, setPerson, nil); err != nil {
			return
		}
	}
	defer fresh.store.Close()
	older, oldest := s.programs["older"], s.programs["oldest"]
	added := []string{fmt.Sprint("new.", int(st), ".0"), fmt.Sprint("new.", int(st), ".1")}
	for i, w := range []struct {
		by   *program
		do   verb
		id   string
		kind string
	}{
		{fresh, update, "p0", "b"}, {older, update, "p0", "a"}, {fresh, put, "p0", "b"}, {oldest, update, "p0", "b"},
		{older, patch, "p1", "b"}, {fresh, patch, "p1", "a"}, {oldest, put, "p1", "a"}, {fresh, remove, "p1", ""}, {older, insert, "p1", "a"},
		{fresh, insert, added[0], "a"}, {older, remove, added[0], ""}, {older, insert, added[1], "b"}, {fresh, update, added[1], "a"},
		{oldest, remove, "p2", ""}, {fresh, insert, "p2", "b"}, {older, put, "p2", "a"},
	} {
		when := fmt.Sprintf("%s, after write %d of the probe (%s %s)", st, i, w.do, w.id)
		if err := w.by.door.do(s.ctx, w.do, []person{s.person(w.id, w.kind)}); err != nil && !refusesWrite(err) {
			s.fault("%s: %v", when, err)
		}
		if w.by == oldest && w.do != remove {
			s.keeps(when, w.id, w.kind)
		}
		if st.inCatalog() {
			s.asks(r, when+", by a new reader", st.isReady())
		}
		if s.newer != nil {
			s.asks(s.newer, when, false)
		}
	}
	if st.isReady() {
		s.verify(r, st.String())
	}
}

// keeps sees that a program which has no kinds left that of a record as it was.
func (s *scene) keeps(when, id, kind string) {
	p, err := s.all.Get(s.ctx, repo.Key{home, id})
	if s.must(when, err) && p.Kind != kind {
		s.fault("%s: a field is lost: the kind of %s is %q, and was %q", when, id, p.Kind, kind)
	}
}
