package backendtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

// A tenant is a record in an isolated place.
type tenant struct {
	ID string `repo:"id"`
}

func tenants(t *testing.T, s driver.Store) *repo.Repo[tenant] {
	t.Helper()
	r, err := repo.Open[tenant](t.Context(), repo.NewStore(s, nil), repo.Schema{Collection: "tenants", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// openBase opens the place of the URL, with a record.
func openBase(t *testing.T, url string, open func(ctx context.Context, url string) (driver.Store, error)) driver.Store {
	t.Helper()
	base, err := open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	if err := tenants(t, base).Put(t.Context(), &tenant{ID: "base"}); err != nil {
		t.Fatal(err)
	}
	return base
}

// Isolated sees that the places which repotest makes on a server know nothing of each other, that one is
// gone with its store, all else being left, and that no other place can be erased.
func Isolated(t *testing.T, url string, open func(ctx context.Context, url string) (driver.Store, error)) {
	t.Helper()
	var urls []string
	noting := func(ctx context.Context, url string) (driver.Store, error) {
		urls = append(urls, url)
		return open(ctx, url)
	}
	one, other := repotest.Isolated(t, url, noting, nil), repotest.Isolated(t, url, noting, nil)
	for _, r := range []*repo.Repo[tenant]{tenants(t, one), tenants(t, other)} {
		if err := r.Insert(t.Context(), &tenant{ID: "a"}); err != nil {
			t.Errorf("insert in a place of its own: %v", err)
		}
	}
	_, onServer := other.Within().(driver.Eraser)
	var base driver.Store
	if onServer {
		base = openBase(t, url, open)
	}
	began := time.Now()
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("a place is removed in %v", time.Since(began).Round(time.Millisecond))
	if n, err := tenants(t, other).Exists(t.Context(), repo.Key{"a"}); !n || err != nil {
		t.Errorf("what is in another place: %v, %v", n, err)
	}
	if !onServer {
		return // it is in this process, or in a directory of the test
	}
	again, err := open(t.Context(), urls[0])
	if err != nil {
		t.Fatal(err)
	}
	names, err := repo.Collections(t.Context(), repo.NewStore(again, nil))
	if len(names) > 0 || err != nil {
		t.Errorf("in the place that was removed are %v, %v", names, err)
	}
	if err := errors.Join(again.(driver.Eraser).Erase(t.Context()), again.Close()); err != nil {
		t.Error(err)
	}
	if n, err := tenants(t, base).Exists(t.Context(), repo.Key{"base"}); !n || err != nil {
		t.Errorf("what is in the place of the URL: %v, %v", n, err)
	}
	if err := base.(driver.Eraser).Erase(t.Context()); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("erase of a place that is not temporary: %v, want ErrInvalid", err)
	}
}
