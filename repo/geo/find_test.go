package geo_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/geo"
)

func TestBadQueries(t *testing.T) {
	r, places := open(t, newStore(t, "memory", nil), "global", "shops")
	insert(t, r, []shop{{"bakery", "a", crowd}})
	ctx, zero := t.Context(), geo.Point{}
	queries := []geo.Query{
		{}, geo.Near(zero, 0), geo.Near(zero, -1), geo.Near(zero, math.NaN()), geo.Near(zero, math.Inf(1)), geo.Near(zero, geo.Farthest+1), geo.Near(zero, 1).Limit(-1),
		geo.InPolygon(), geo.InPolygon(zero), geo.InPolygon(zero, crowd), geo.InBox(geo.Point{Lat: 2}, geo.Point{Lat: 1}),
		geo.Near(zero, 1).Where("", 1), geo.Near(zero, 1).Where("color", "red"), geo.Near(zero, 1).Where("id", 7),
	}
	for _, p := range bad {
		queries = append(queries, geo.Near(p, 1), geo.InBox(p, crowd), geo.InBox(crowd, p), geo.InPolygon(crowd, zero, p))
	}
	for _, q := range queries {
		n := 0
		for s, err := range places.Find(ctx, q) {
			if n++; s.ID != "" {
				t.Errorf("%s finds %v", q, s)
			}
			isKind(t, err, repo.ErrInvalid)
		}
		page, err := places.Page(ctx, q, "")
		if isKind(t, err, repo.ErrInvalid); n != 1 || page.Items == nil {
			t.Errorf("%s: %d times, %v", q, n, page)
		}
	}
	var none *geo.Places[shop]
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, tt := range []struct {
		places *geo.Places[shop]
		ctx    context.Context
		kind   error
	}{{none, ctx, repo.ErrInvalid}, {&geo.Places[shop]{}, ctx, repo.ErrInvalid}, {places, nil, repo.ErrInvalid}, {places, ended, repo.ErrTimeout}} {
		_, err := repo.Collect(tt.places.Find(tt.ctx, block))
		isKind(t, err, tt.kind)
		_, err = tt.places.Page(tt.ctx, block, "")
		isKind(t, err, tt.kind)
	}
}

func TestBadPlaces(t *testing.T) {
	r, _ := open(t, newStore(t, "memory", nil), "partition", "shops")
	insert(t, r, []shop{{"bakery", "a", crowd}})
	for name, err := range map[string]error{
		"no repository": second(geo.Of(nil, "at", at)),
		"unopened":      second(geo.Of(&repo.Repo[shop]{}, "at", at)),
		"no name":       second(geo.Of(r, "", at)),
		"no function":   second(geo.Of(r, "at", nil)),
		"no such field": second(geo.Of(r, "place", at)),
	} {
		t.Log(name)
		isKind(t, err, repo.ErrInvalid)
	}
	other, err := geo.Of(r, "at", func(*shop) geo.Point { return center })
	if err != nil {
		t.Fatal(err)
	}
	_, err = repo.Collect(other.Find(t.Context(), geo.Near(crowd, 100).Where("kind", "bakery")))
	isKind(t, err, repo.ErrInvalid)
	text, err := geo.Of(r, "id", at)
	if err != nil {
		t.Fatal(err)
	}
	_, err = repo.Collect(text.Find(t.Context(), geo.Near(crowd, 100)))
	isKind(t, err, repo.ErrNoIndex)
	_, places := open(t, r.Store(), "partition", "shops")
	_, err = repo.Collect(places.Find(t.Context(), geo.Near(crowd, 100))) // without the condition
	if isKind(t, err, repo.ErrNoIndex); !strings.Contains(err.Error(), `Sort: ["at"]`) {
		t.Error(err)
	}
}

func second[A, B any](_ A, b B) B { return b }

func TestBadCursors(t *testing.T) {
	r, places := open(t, newStore(t, "memory", nil), "global", "shops")
	insert(t, r, []shop{{"bakery", "a", crowd}, {"bakery", "b", crowd}, {"bakery", "c", center}})
	q := geo.Near(crowd, 1e6).Limit(1)
	for range 2 {
		page, err := places.Page(t.Context(), q, "")
		if err != nil || page.Next == "" {
			t.Fatal(page, err)
		}
		for _, cursor := range []string{"x", "!", page.Next + "A", page.Next[1:], page.Next + "\n", strings.ToUpper(page.Next), strings.Repeat("A", 22)} {
			_, err := places.Page(t.Context(), q, cursor)
			isKind(t, err, repo.ErrCursor)
		}
		for _, other := range []geo.Query{geo.Near(crowd, 1e6+1), geo.Near(center, 1e6), block} {
			_, err := places.Page(t.Context(), other, page.Next)
			isKind(t, err, repo.ErrCursor)
		}
		if rest, err := places.Page(t.Context(), q.Limit(5), page.Next); err != nil || rest.Next != "" || len(rest.Items) == 0 {
			t.Error(rest, err)
		}
		q = q.Limit(2)
	}
}

// What lies where edges of areas meet the poles and the date line.
func TestAreas(t *testing.T) {
	points := map[string]geo.Point{
		"north": {Lat: 90, Lon: 33}, "south": {Lat: -90}, "near north": {Lat: 89, Lon: -170}, "fiji": {Lat: -17, Lon: 179},
		"samoa": {Lat: -14, Lon: -171}, "line": {Lat: 0, Lon: 180}, "zero": {}, "paris": center,
	}
	r, places := open(t, newStore(t, "memory", nil), "global", "shops")
	for id, p := range points {
		insert(t, r, []shop{{"bakery", id, p}})
	}
	p := func(lat, lon float64) geo.Point { return geo.Point{Lat: lat, Lon: lon} }
	for _, tt := range []struct {
		query geo.Query
		want  string
	}{
		{geo.InBox(p(-90, -180), p(90, 180)), "fiji line near north north paris samoa south zero"},
		{geo.InBox(p(-20, 175), p(-10, -170)), "fiji samoa"},
		{geo.InBox(p(-20, 175), p(-10, 180)), "fiji"},
		{geo.InBox(p(0, 170), p(0, 180)), "line"},
		{geo.InBox(p(0, 180), p(0, -180)), "line"},
		{geo.InBox(p(0, -180), p(0, -180)), "line"},
		{geo.InBox(p(0, 0), p(0, 0)), "zero"},
		{geo.InBox(p(85, 100), p(90, 101)), "north"},
		{geo.InBox(p(85, -175), p(90, -165)), "near north north"},
		{geo.InBox(p(-90, 50), p(-80, 51)), "south"},
		{geo.InPolygon(p(-20, 175), p(-20, -165), p(-10, -165), p(-10, 175)), "fiji samoa"},
		{geo.InPolygon(p(-10, 175), p(-10, -165), p(-20, -165), p(-20, 175)), "fiji samoa"},
		{geo.InPolygon(p(40, 0), p(40, 90), p(40, 180), p(40, -90)), "near north north paris"},              // eastwards
		{geo.InPolygon(p(40, -90), p(40, 180), p(40, 90), p(40, 0)), "fiji line samoa south zero"},          // westwards
		{geo.InPolygon(p(80, -175), p(90, -175), p(90, -165), p(80, -165)), "near north north"},             // up to the pole
		{geo.InPolygon(p(1, -1), p(-1, -1), p(-1, 1), p(1, 1)), "zero"},                                     // around
		{geo.InPolygon(p(0, -1), p(0, 1), p(1, 0)), "zero"},                                                 // on an edge
		{geo.InPolygon(p(0, 0), p(0, 1), p(1, 0)), "zero"},                                                  // at a corner
		{geo.InPolygon(p(1, -1), p(-1, 1), p(0, 0)), "zero"},                                                // without an inside
		{geo.InPolygon(p(-5, -5), p(5, 5), p(5, -5), p(-5, 5)), "zero"},                                     // crosses itself there
		{geo.InPolygon(p(-5, -5), p(-5, 5), p(5, 5), p(5, -5), p(-5, -5), p(-5, 5), p(5, 5), p(5, -5)), ""}, // twice around
		{geo.Near(p(90, 0), 120_000), "north near north"},
		{geo.Near(p(89, 10), 230_000), "north near north"},
		{geo.Near(p(0, -179.9), 12_000), "line"},
		{geo.Near(p(-15.5, -176), 800_000), "fiji samoa"},
		{geo.Near(p(0, 0), 1e-9), "zero"},
	} {
		got, err := repo.Collect(places.Find(t.Context(), tt.query))
		ids := ids(got)
		if !strings.HasPrefix(tt.query.String(), "at most") {
			slices.SortFunc(got, func(a, b shop) int { return strings.Compare(a.ID, b.ID) })
			ids = strings.TrimSpace(fmt.Sprint(idsOf(got)))
		}
		if err != nil || ids != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.query, ids, err, tt.want)
		}
	}
}

func idsOf(list []shop) string { return ids(list) }

// Pages show each record that stays once, though many records have one place and others come and go.
func TestPagesWhileOthersWrite(t *testing.T) {
	for shape := range shapes {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			r, places := open(t, newStore(t, "memory", nil), shape, "shops")
			var list []shop
			for i := range 700 {
				list = append(list, shop{"bakery", fmt.Sprintf("stays%03d", i), []geo.Point{crowd, center, {Lat: 48.71, Lon: float64(i) / 1e4}}[min(2, i/300)]})
			}
			insert(t, r, list)
			for _, q := range []geo.Query{geo.Near(crowd, 1e6), geo.InBox(geo.Point{Lat: 40}, geo.Point{Lat: 50, Lon: 10})} {
				if shapes[shape].where {
					q = q.Where("kind", "bakery")
				}
				seen, n := map[string]int{}, 0
				for cursor := ""; n == 0 || cursor != ""; n++ {
					page, err := places.Page(t.Context(), q.Limit(37), cursor)
					if err != nil {
						t.Fatal(err)
					}
					for _, s := range page.Items {
						seen[s.ID]++
					}
					cursor = page.Next
					last := page.Items[len(page.Items)-1]
					for _, id := range []string{"", "a", "zz"} { // before and behind it, at the same place
						if err := r.Insert(t.Context(), &shop{"bakery", id + last.ID + fmt.Sprint(n), last.At}); err != nil && n > 0 {
							t.Log(err)
						}
					}
				}
				for _, s := range list {
					if seen[s.ID] != 1 {
						t.Errorf("%s: %s comes %d times in %d pages", q, s.ID, seen[s.ID], n)
					}
				}
			}
		})
	}
}

// Readers find what stays while writers add, move and remove other records.
func TestFindWhileOthersWrite(t *testing.T) {
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r, places := open(t, newStore(t, store, nil), "partition", "shops")
			w := world{newWorld(1).Rand, 5}
			list := w.shops(200)
			insert(t, r, list)
			ctx, stop := context.WithCancel(t.Context())
			var writers sync.WaitGroup
			for range 2 {
				w := world{newWorld(w.Uint64()).Rand, 5}
				writers.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						if err := r.Put(t.Context(), &shop{"bakery", fmt.Sprint("moves", w.IntN(20)), w.point()}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			q := geo.Near(stored(48.85, 2.35), 10_000)
			for range 20 {
				seen, last := map[string]int{}, 0.0
				for s, err := range places.Find(t.Context(), q.Where("kind", "bakery")) {
					far := stored(48.85, 2.35).Distance(s.At)
					if seen[s.ID]++; err != nil || far < last || far > 10_000 {
						t.Errorf("%v, %v, %v m after %v m", s, err, far, last)
					}
					last = far
				}
				for _, s := range list {
					if want := s.At.Distance(stored(48.85, 2.35)) <= 10_000; (seen[s.ID] == 1) != want || seen[s.ID] > 1 {
						t.Errorf("%v comes %d times", s, seen[s.ID])
					}
				}
			}
			stop()
			writers.Wait()
		})
	}
}

// Records without a place are in no answer.
func TestWithoutPlace(t *testing.T) {
	type person struct {
		ID string     `repo:"id"`
		At *geo.Point `repo:"at"`
	}
	r, err := repo.Open[person](t.Context(), newStore(t, "memory", nil), repo.Schema{Collection: "people", Partition: []string{"id"},
		Indexes: []repo.Index{{Sort: []string{"at"}, Buckets: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []person{{"ann", &crowd}, {"bob", nil}} {
		if err := r.Insert(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	places, err := geo.Of(r, "at", func(p *person) geo.Point { return *p.At })
	if err != nil {
		t.Fatal(err)
	}
	got, err := repo.Collect(places.Find(t.Context(), geo.Near(center, geo.Farthest)))
	if err != nil || len(got) != 1 || got[0].ID != "ann" || *got[0].At != crowd {
		t.Error(got, err)
	}
}
