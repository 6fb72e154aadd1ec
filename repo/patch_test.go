package repo_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

type host struct {
	ID     string            `repo:"id"`
	Small  int8              `repo:"small"`
	Hits   uint64            `repo:"hits"`
	Count  int64             `repo:"count"`
	Tags   []string          `repo:"tags"`
	Addr   netip.Addr        `repo:"addr"`
	Part   part              `repo:"part"`
	Labels map[string]string `repo:"labels"`
	Note   string            `repo:"note"`
	Extra  map[string]any    `repo:",extra"`
}

// A patch never makes a record that its struct cannot hold, or that is over the
// limit: nobody could read it or write it again.
func TestPatchThatDoesNotFit(t *testing.T) {
	hosts, err := repo.Open[host](t.Context(), newStore(t, nil), repo.Schema{Collection: "hosts", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	half := strings.Repeat("x", 600<<10)
	for i, tt := range []struct {
		edits []repo.Edit
		want  error
	}{
		{[]repo.Edit{repo.Set("small", 1000)}, repo.ErrInvalid},
		{[]repo.Edit{repo.Add("small", 127)}, repo.ErrInvalid},
		{[]repo.Edit{repo.Add("small", 126)}, nil},
		{[]repo.Edit{repo.Set("hits", -1)}, repo.ErrInvalid},
		{[]repo.Edit{repo.Add("hits", -2)}, repo.ErrInvalid},
		{[]repo.Edit{repo.Add("hits", -1), repo.Add("count", -5)}, nil},
		{[]repo.Edit{repo.Set("tags", []int{1})}, repo.ErrInvalid},
		{[]repo.Edit{repo.Set("tags", []string{"a"}), repo.Set("labels", nil)}, nil},
		{[]repo.Edit{repo.Set("addr", "nowhere")}, repo.ErrInvalid},
		{[]repo.Edit{repo.Set("addr", "::1")}, nil},
		{[]repo.Edit{repo.Set("part", map[string]any{"name": 5})}, repo.ErrInvalid},
		{[]repo.Edit{repo.Set("part", map[string]any{"name": "five"})}, nil},
		{[]repo.Edit{repo.Set("labels", map[string]int{"a": 1})}, repo.ErrInvalid},
		{[]repo.Edit{repo.Set("note", half), repo.Set("other", half)}, repo.ErrTooLarge},
		{[]repo.Edit{repo.Set("other", half)}, nil},
	} {
		h := host{ID: fmt.Sprint(i), Small: 1, Hits: 1, Addr: netip.IPv4Unspecified()}
		if err := hosts.Insert(t.Context(), &h); err != nil {
			t.Fatal(err)
		}
		if _, err := hosts.Patch(t.Context(), repo.Key{h.ID}, tt.edits...); !errors.Is(err, tt.want) {
			t.Errorf("patch %d: %v, want %v", i, err, tt.want)
		}
		if _, err := hosts.Update(t.Context(), repo.Key{h.ID}, func(*host) error { return nil }); err != nil {
			t.Errorf("after patch %d: %v", i, err)
		}
	}
	for range 3 { // each is below the limit
		_, err = hosts.Patch(t.Context(), repo.Key{"0"}, repo.Set("more", half), repo.Set("note", ""))
		if err == nil {
			_, err = hosts.Patch(t.Context(), repo.Key{"0"}, repo.Set("note", half))
		}
	}
	if !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("patches that are too large together: %v, want ErrTooLarge", err)
	}
}
