package repo_test

import (
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

// A patch of a part leaves what writing the struct would leave: nothing where an empty value is absent, a time with its
// nanoseconds, a float.
func TestPatchOfPartFits(t *testing.T) {
	type visit struct {
		N    int       `repo:"n,omitempty"`
		At   time.Time `repo:"at,nanos"`
		Paid float64   `repo:"paid"`
	}
	type visits struct {
		ID   string           `repo:"id"`
		Of   map[string]visit `repo:"of"`
		Last visit            `repo:"last"`
	}
	ctx := t.Context()
	r, err := repo.Open[visits](ctx, newStore(t, nil), repo.Schema{Collection: "visits", Partition: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"last.n"}}, {Partition: []string{"last.at"}}, {Partition: []string{"last.paid"}}, {Partition: []string{"of.ann.paid"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(ctx, &visits{ID: "1", Last: visit{N: 5}}); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(5, 123456789).UTC()
	if _, err := r.Patch(ctx, repo.Key{"1"}, repo.Set("last.n", 0), repo.Set("last.at", at), repo.Set("last.paid", 7), repo.Add("of.ann.paid", 2)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		q    repo.Query
		want int
	}{{repo.Where("last.n", 0), 0}, {repo.Where("last.at", at), 1}, {repo.Where("last.paid", 7), 1}, {repo.Where("of.ann.paid", 2), 1}} {
		if n, err := r.Count(ctx, tt.q); err != nil || n != tt.want {
			t.Errorf("%s: %d, %v, want %d", tt.q, n, err, tt.want)
		}
	}
	if v, err := r.Get(ctx, repo.Key{"1"}); err != nil || !v.Last.At.Equal(at) || v.Last.N != 0 || v.Last.Paid != 7 || v.Of["ann"].Paid != 2 {
		t.Errorf("read: %+v, %v", v, err)
	}
}
