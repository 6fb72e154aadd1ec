package backendtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Sent compares what a backend says that it sends with what its server says that it got.
type Sent struct {
	Store driver.Store

	// Got returns how many commands or statements the server has got so far from this
	// store, and how many messages, 0 if it does not tell.
	Got func(t *testing.T) (requests, messages int)

	// Most is how many records a query finds at most, 0 for as many as any test needs.
	Most int

	// Native has indexes that the store keeps by itself; Near only those that lie in the
	// partition of the records, and have no order of their own.
	Native, Near bool

	n int64 // of the record that was inserted last
}

// A remark is a record with indexes near to it and elsewhere.
type remark struct {
	Host  string `repo:"host"`
	N     int64  `repo:"n"`
	Topic string `repo:"topic"`
	Slug  string `repo:"slug"`
	Text  string `repo:"text"`
	Stars int64  `repo:"stars"`
}

func (s *Sent) schema() repo.Schema {
	kind := "table"
	if s.Native {
		kind = "native"
	}
	schema := repo.Schema{Collection: "remarks_" + kind, Partition: []string{"host"}, Sort: []string{"n"}, Indexes: []repo.Index{
		{Partition: []string{"host"}, Sort: []string{"slug"}, Unique: true},
		{Sort: []string{"slug", "n"}, Buckets: 3, Kind: "table"},
	}}
	if s.Near {
		schema.Indexes = append(schema.Indexes, repo.Index{Partition: []string{"host", "topic"}, Sort: []string{"n"}, Kind: kind})
	} else {
		schema.Indexes = append(schema.Indexes,
			repo.Index{Partition: []string{"host"}, Sort: []string{"-n"}, Covers: []string{"text"}, Kind: kind},
			repo.Index{Partition: []string{"topic"}, Sort: []string{"n"}, Kind: kind})
	}
	return schema
}

// byTopic finds as many records as a host has, by an index.
func (s *Sent) byTopic(host string) repo.Query {
	if s.Near {
		return repo.Where("host", host).Where("topic", "none")
	}
	return repo.Where("topic", host)
}

// sizes are how many records hosts have, and topics, each of another host: about as many
// as fit into pages, and many.
func (s *Sent) sizes() []int {
	all := []int{0, 1, 99, 100, 101, 127, 128, 129, 257, 700, 1500}
	return slices.DeleteFunc(all, func(n int) bool { return s.Most > 0 && n > s.Most })
}

// A use is one operation, done again each time that it is called. Found is how many
// records its query finds, -1 for one that is no query.
type use struct {
	name  string
	query repo.Query
	found int
	do    func(ctx context.Context) error
}

// Run does each operation some times. What the server does beside, heartbeats for
// one, is more than what was sent, never less, so that the time with the least counts. Before each time the operation is
// done once uncounted: it prepares statements, and the catalog is asked by it. Of an operation that takes seconds each
// time, the catalog's part is taken off.
// A control changes the events.
func (s *Sent) Run(t *testing.T, change func(repo.Event) repo.Event) (wrong []string) {
	var last repo.Event
	var all asked
	store := repo.NewStore(s.Store, &repo.Options{Tracer: all.tracer(func(e repo.Event) { last = change(e) })})
	remarks, err := repo.Open[remark](t.Context(), store, s.schema())
	if err != nil {
		t.Fatal(err)
	}
	s.fill(t, remarks)
	for _, u := range s.uses(remarks) {
		least, at := 1<<30, ""
		for try := 0; try < 5 && least != 0; try++ {
			if err := u.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", u.name, err)
			}
			before, messages := s.Got(t)
			began := time.Now()
			if err := u.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", u.name, err)
			}
			beside := int(time.Since(began) / time.Second) // the catalog is asked now and then
			after, then := s.Got(t)
			d := after - before - last.Requests
			if d > 0 {
				d = max(0, d-beside)
			}
			if d*d < least*least {
				least, at = d, fmt.Sprintf("%s: the event says %d deep, %d requests; the server got %d in %d messages", u.name, last.Depth, last.Requests, after-before, then-messages)
			}
			if then > 0 && then-messages < last.Depth {
				wrong = append(wrong, at)
			}
		}
		if least != 0 {
			wrong = append(wrong, at)
		}
		if differ := all.differ(last); differ != "" {
			wrong = append(wrong, u.name+": "+differ)
		}
		wrong = append(wrong, s.forecast(t, remarks, &u, &last)...)
	}
	return wrong
}

// Check reports what is counted otherwise than the server does, and fails as well if events
// that say too little pass.
func (s *Sent) Check(t *testing.T) {
	t.Helper()
	for _, wrong := range s.Run(t, func(e repo.Event) repo.Event { return e }) {
		t.Error(wrong)
	}
	few := s.Run(t, func(e repo.Event) repo.Event { e.Depth, e.Requests = min(e.Depth, 1), min(e.Requests, 1); return e })
	if len(few) < len(s.sizes()) {
		t.Errorf("of events that tell of one request at most only these were noticed: %q", few)
	}
}

// forecast compares what an operation cost with what was foretold.
func (s *Sent) forecast(t *testing.T, remarks *repo.Repo[remark], u *use, last *repo.Event) []string {
	if u.found < 0 {
		return nil
	}
	plan, err := remarks.Explain(u.query)
	if err != nil {
		t.Fatal(err)
	}
	if depth, requests := plan.Cost(u.found); depth != last.Depth || requests != last.Requests {
		return []string{fmt.Sprintf("%s: foretold were %d deep, %d requests, it took %d and %d", u.name, depth, requests, last.Depth, last.Requests)}
	}
	return nil
}

func (s *Sent) fill(t *testing.T, remarks *repo.Repo[remark]) {
	all := func(yield func(remark, error) bool) {
		for _, size := range s.sizes() {
			host := fmt.Sprint("h", size)
			for n := range size {
				near := remark{Host: host, N: int64(n), Topic: "none", Slug: fmt.Sprint("s", n), Text: "text"}
				far := remark{Host: fmt.Sprint("p", n), N: int64(size), Topic: host, Slug: fmt.Sprint("s", size)}
				if !yield(near, nil) || !yield(far, nil) {
					return
				}
			}
		}
	}
	found := false
	for _, err := range remarks.Keys(t.Context(), repo.Where("host", "h1")) {
		if err != nil {
			t.Fatal(err)
		}
		found = true
	}
	if found {
		return
	}
	if _, err := remarks.InsertAll(t.Context(), iter.Seq2[remark, error](all)); err != nil {
		t.Fatal(err)
	}
}

func (s *Sent) uses(remarks *repo.Repo[remark]) []use {
	list := slices.Concat(s.writes(remarks), reads(remarks), s.long(remarks))
	for _, size := range s.sizes() {
		host := fmt.Sprint("h", size)
		byKey, byTopic := repo.Where("host", host), s.byTopic(host)
		find := func(q repo.Query) func(context.Context) error {
			return func(ctx context.Context) error { return Drain(remarks.Find(ctx, q)) }
		}
		list = append(list,
			use{"find by key, " + host, byKey, size, find(byKey)},
			use{"find by index, " + host, byTopic, size, find(byTopic)},
			use{"find 20 by key, " + host, byKey.Limit(20), size, find(byKey.Limit(20))},
			use{"find 300 by index, " + host, byTopic.Limit(300), size, find(byTopic.Limit(300))},
			use{"keys, " + host, byKey, -1, func(ctx context.Context) error { return Drain(remarks.Keys(ctx, byTopic)) }},
			use{"count, " + host, byKey, -1, func(ctx context.Context) error { _, err := remarks.Count(ctx, byTopic); return err }},
		)
	}
	return list
}

func reads(remarks *repo.Repo[remark]) []use {
	var keys []repo.Key
	for n := range 300 {
		keys = append(keys, repo.Key{"h257", n})
	}
	scattered := []repo.Key{{"h1", 0}, {"h99", 1}, {"h99", 2}, {"h257", 7}, {"none", 1}}
	slug := repo.Where("host", "h257").Where("slug", "s7")
	return []use{
		{"get", repo.Query{}, -1, func(ctx context.Context) error { _, err := remarks.Get(ctx, repo.Key{"h1", 0}); return err }},
		{"exists", repo.Query{}, -1, func(ctx context.Context) error { _, err := remarks.Exists(ctx, repo.Key{"h1", 1}); return err }},
		{"get 300", repo.Query{}, -1, func(ctx context.Context) error { _, _, err := remarks.GetMany(ctx, keys); return err }},
		{"get some", repo.Query{}, -1, func(ctx context.Context) error { _, _, err := remarks.GetMany(ctx, scattered); return err }},
		{"one", slug, 1, func(ctx context.Context) error { _, err := remarks.One(ctx, slug); return err }},
		{"walk", repo.Query{}, -1, func(ctx context.Context) error { return Drain(remarks.Walk(ctx, "")) }},
	}
}

// long are operations that read some of all records, or all of them.
func (s *Sent) long(remarks *repo.Repo[remark]) []use {
	ofAll := repo.Query{}.Order("slug", "n").Limit(150)
	pages := func(ctx context.Context, q repo.Query) error {
		page, err := remarks.Page(ctx, q, "")
		if err == nil && page.Next == "" {
			return fmt.Errorf("there is no second page")
		}
		return err
	}
	return []use{
		{"page", repo.Query{}, -1, func(ctx context.Context) error { return pages(ctx, repo.Where("host", "h257").Limit(150)) }},
		{"page by index", repo.Query{}, -1, func(ctx context.Context) error { return pages(ctx, s.byTopic("h257").Limit(150)) }},
		{"page backwards", repo.Query{}, -1, func(ctx context.Context) error {
			return pages(ctx, repo.Where("host", "h257").Order("-n").Limit(150))
		}},
		{"of all, in buckets", repo.Query{}, -1, func(ctx context.Context) error { return Drain(remarks.Find(ctx, ofAll)) }},
		{"scan", repo.Query{}, -1, func(ctx context.Context) error {
			return Drain(remarks.Scan(ctx, repo.Where("text", "text").Limit(300)))
		}},
	}
}

func (s *Sent) writes(remarks *repo.Repo[remark]) []use {
	fresh := func() *remark { s.n++; return &remark{Host: "w", N: s.n, Topic: "w", Slug: fmt.Sprint(s.n)} }
	last := func() repo.Key { return repo.Key{"w", s.n} }
	return []use{
		{"insert", repo.Query{}, -1, func(ctx context.Context) error { return remarks.Insert(ctx, fresh()) }},
		{"insert of what is there", repo.Query{}, -1, func(ctx context.Context) error {
			if err := remarks.Insert(ctx, &remark{Host: "w", N: s.n, Slug: "other"}); err == nil {
				return fmt.Errorf("it was inserted")
			}
			return nil
		}},
		{"put", repo.Query{}, -1, func(ctx context.Context) error { return remarks.Put(ctx, fresh()) }},
		{"update", repo.Query{}, -1, func(ctx context.Context) error {
			_, err := remarks.Update(ctx, last(), func(r *remark) error { r.Text += "x"; return nil })
			return err
		}},
		{"move", repo.Query{}, -1, func(ctx context.Context) error {
			_, err := remarks.Update(ctx, last(), func(r *remark) error { r.Topic += "x"; return nil })
			return err
		}},
		{"patch", repo.Query{}, -1, func(ctx context.Context) error {
			_, err := remarks.Patch(ctx, last(), repo.Set("text", "y"))
			return err
		}},
		{"patch of a sum", repo.Query{}, -1, func(ctx context.Context) error {
			_, err := remarks.Patch(ctx, last(), repo.Add("stars", 1))
			return err
		}},
		{"patch blind", repo.Query{}, -1, func(ctx context.Context) error {
			_, err := remarks.PatchBlind(ctx, last(), repo.Set("text", "z"))
			return err
		}},
		{"group", repo.Query{}, -1, func(ctx context.Context) error {
			g := remarks.Store().Group()
			in := remarks.In(g)
			for range 5 {
				in.Insert(fresh())
			}
			in.Delete(repo.Key{"w", -1})
			return g.Commit(ctx)
		}},
		{"delete", repo.Query{}, -1, func(ctx context.Context) error {
			if err := remarks.Delete(ctx, last()); err != nil {
				return err
			}
			s.n--
			return nil
		}},
	}
}
