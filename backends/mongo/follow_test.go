package mongo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

type part struct {
	Machine string `repo:"machine"`
	ID      string `repo:"id"`
	Of      string `repo:"of"`
	Plan    string `repo:"plan"`
}

var partSchema = repo.Schema{Collection: "parts", Partition: []string{"machine"}, Sort: []string{"id"},
	Indexes: []repo.Index{{Name: "below", Partition: []string{"machine"}, Sort: []string{"of", "id"}, Kind: "native"}}}

// A trail is one command, at one instant, that reads by the index. An answer for which a message has no room comes in
// several; one for which $graphLookup has no memory is ErrUnsupported.
func TestFollow(t *testing.T) {
	t.Parallel()
	s, seen, _ := watched(t)
	parts, err := repo.Open[part](t.Context(), s, partSchema)
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Repeat("x", 1e6)
	reach := func() (found []part, verbs []string, err error) {
		seen.take(t)
		err = s.ReadPartition(t.Context(), repo.Key{"m"}, parts.Reached(&found, repo.Trail{Start: "", To: "of", From: "id"}))
		for _, cmd := range seen.take(t) {
			verbs = append(verbs, cmd[0].Key)
		}
		return found, verbs, err
	}
	of := ""
	for i := range 120 {
		p := part{"m", fmt.Sprintf("%03d", i), of, plan}
		if err := parts.Insert(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
		of = p.ID
		if i != 0 && i != 39 && i != 119 {
			continue
		}
		found, verbs, err := reach()
		if i == 119 {
			if !errors.Is(err, repo.ErrUnsupported) || !strings.Contains(err.Error(), "memory") || found != nil {
				t.Errorf("%d parts of a megabyte: %d, %v", i+1, len(found), err)
			}
			break
		}
		if len(found) != i+1 || err != nil || found[i].ID != p.ID || found[i].Plan != plan {
			t.Errorf("%d parts of a megabyte: %d, %v", i+1, len(found), err)
		}
		if want := append([]string{"aggregate"}, slices.Repeat([]string{"getMore"}, i/15)...); !slices.Equal(verbs, want) {
			t.Errorf("%d parts of a megabyte: commands %v, want %v", i+1, verbs, want)
		}
	}
}
