package record

import (
	"fmt"
	"time"

	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An Entry is a record of the random operations. There are few keys and few
// values, so that operations meet.
type Entry struct {
	Part    string         `repo:"part"`
	ID      int64          `repo:"id"`
	Name    *string        `repo:"name"`
	Kind    string         `repo:"kind"`
	Score   int64          `repo:"score"`
	Tags    []string       `repo:"tags"`
	Note    string         `repo:"note"`
	Place   Place          `repo:"place"`
	Extra   map[string]any `repo:",extra"`
	Until   time.Time      `repo:",expires"`
	Version repo.Version   `repo:",version"`
}

// A Place is a field with parts.
type Place struct {
	City string  `repo:"city,omitempty"`
	Rate float64 `repo:"rate,omitempty"`
}

// There are so many partitions, and so many ids in each.
const (
	Parts     = 3
	IdsOfPart = 5
)

// PartName returns the name of a partition.
func PartName(n int) string { return []string{"p", "p#", ""}[n] }

// Schema returns the schema with the indexes that a store can have, one of them
// covering the whole record or none.
func Schema(f driver.Facts, whole bool) repo.Schema {
	scope := tested.Reach(f)
	var all []string
	if whole {
		all = []string{"*"}
	}
	s := repo.Schema{Partition: []string{"part"}, Sort: []string{"-id"}}
	if scope >= driver.ScopePartition {
		s.Indexes = append(s.Indexes,
			repo.Index{Partition: []string{"part"}, Sort: []string{"-score"}},
			repo.Index{Partition: []string{"part"}, Sort: []string{"kind", "score"}, Covers: []string{"note"}},
			repo.Index{Partition: []string{"part"}, Sort: []string{"place.city"}})
	}
	if scope >= driver.ScopeStore {
		s.Indexes = append(s.Indexes,
			repo.Index{Partition: []string{"kind"}, Sort: []string{"-score"}, Covers: []string{"note"}},
			repo.Index{Partition: []string{"tags[]"}, Sort: []string{"score"}},
			repo.Index{Partition: []string{"name"}, Unique: true},
			repo.Index{Partition: []string{"kind"}, Sort: []string{"tags[]"}},
			repo.Index{Sort: []string{"score"}, Buckets: 3, Covers: all})
	}
	if tested.KeepsLocalNative(f) == "" && f.PrefersNative { // none of the others would be native
		s.Indexes = append(s.Indexes, repo.Index{Partition: []string{"part", "kind"}, Sort: []string{"-id"}})
	}
	return s
}

func (e Entry) String() string {
	name := "nil"
	if e.Name != nil {
		name = fmt.Sprintf("%q", *e.Name)
	}
	text := fmt.Sprintf("%q/%d name %s kind %q score %d tags %q note %q", e.Part, e.ID, name, e.Kind, e.Score, e.Tags, e.Note)
	if e.Place != (Place{}) {
		text += fmt.Sprintf(" place %q %v", e.Place.City, e.Place.Rate)
	}
	if len(e.Extra) > 0 {
		text += fmt.Sprintf(" extra %v", e.Extra)
	}
	if !e.Until.IsZero() {
		text += fmt.Sprintf(" until %d", e.Until.UnixMilli())
	}
	return text
}

// A Glance is what some indexes cover.
type Glance struct {
	Part string `repo:"part"`
	ID   int64  `repo:"id"`
	Kind string `repo:"kind"`
	Note string `repo:"note"`
}

// KeyText returns the key of an entry, for people.
func KeyText(e Entry) string { return fmt.Sprintf("%q/%d", e.Part, e.ID) }

// KeyOf returns the key of an entry.
func KeyOf(e Entry) repo.Key { return repo.Key{e.Part, e.ID} }
