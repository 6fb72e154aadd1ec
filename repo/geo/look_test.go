package geo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/geo"
)

// A slow store calls between whenever it knows which records of several ranges are wanted, and reads them after that.
type slow struct {
	driver.Store
	between func(wanted int)
}

func (s *slow) Ranges(ctx context.Context, spans []driver.Span, yield func(i int, row *driver.Row) bool) error {
	ranger, wanted := s.Store.(driver.Ranger), make([][]string, len(spans))
	n := 0
	if err := ranger.Ranges(ctx, spans, func(i int, row *driver.Row) bool {
		wanted[i] = append(wanted[i], row.Key.Sort)
		n++
		return true
	}); err != nil {
		return err
	}
	s.between(n)
	later := slices.Clone(spans)
	for i := range later {
		later[i].Want = func(sort string) bool { return slices.Contains(wanted[i], sort) }
	}
	return ranger.Ranges(ctx, later, yield)
}

// Records that go between the look at their keys and the reading of them are not missed by the limit: what comes after
// them is found, though it was not wanted.
func TestWantedThatGo(t *testing.T) {
	for _, gone := range []int{0, 1, 5, 20} {
		for _, same := range []bool{false, true} { // all are at one spot
			t.Run(fmt.Sprint(gone, " ", same), func(t *testing.T) { wantedThatGo(t, gone, same) })
		}
	}
}

func wantedThatGo(t *testing.T, gone int, same bool) {
	var between atomic.Pointer[func(int)]
	store := repo.NewStore(&slow{memory.New(nil), func(n int) {
		if f := between.Load(); f != nil {
			(*f)(n)
		}
	}}, nil)
	defer store.Close()
	r, places := open(t, store, "key", "shops")
	var list []shop
	for i := range 19 {
		p := center
		if !same {
			p = stored(center.Lat+float64(i)*1e-5, center.Lon)
		}
		list = append(list, shop{"bakery", fmt.Sprintf("%02d", i), p})
	}
	insert(t, r, list)
	const limit = 10
	removed, most := 0, 0
	remove := func(wanted int) {
		most = max(most, wanted)
		for ; removed < min(gone, len(list)); removed++ {
			s := list[removed]
			if err := r.Delete(t.Context(), repo.Key{s.Kind, s.At, s.ID}); err != nil {
				t.Error(err)
			}
		}
	}
	between.Store(&remove)
	got, err := repo.Collect(places.Find(t.Context(), geo.Near(center, 100).Where("kind", "bakery").Limit(limit)))
	want := list[min(gone, len(list)):]
	if want = want[:min(limit, len(want))]; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %v, %v; want %v", got, err, want)
	}
	if !same && most != limit {
		t.Errorf("%d records were wanted at once, of %d; want %d", most, len(list), limit)
	}
}

// A page has no page after it if what was seen there went before it was read.
func TestNoPageOfWhatWent(t *testing.T) {
	for gone := range 4 {
		var between atomic.Pointer[func(int)]
		store := repo.NewStore(&slow{memory.New(nil), func(n int) {
			if f := between.Load(); f != nil {
				(*f)(n)
			}
		}}, nil)
		r, places := open(t, store, "key", "shops")
		var list []shop
		for i := range 5 {
			list = append(list, shop{"bakery", fmt.Sprint(i), stored(center.Lat+float64(i)*1e-5, center.Lon)})
		}
		insert(t, r, list)
		left := list[:len(list)-gone]
		remove := func(int) {
			for _, s := range list[len(left):] {
				if err := r.Delete(t.Context(), repo.Key{s.Kind, s.At, s.ID}); err != nil && !errors.Is(err, repo.ErrNotFound) {
					t.Error(err)
				}
			}
		}
		between.Store(&remove)
		page, err := places.Page(t.Context(), geo.Near(center, 100).Where("kind", "bakery").Limit(2), "")
		if more := len(left) > 2; err != nil || !slices.Equal(page.Items, left[:2]) || (page.Next != "") != more {
			t.Errorf("%d left: %v, next %q, %v", len(left), page.Items, page.Next, err)
		}
		store.Close()
	}
}
