package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// Several processes may send shares of one load. The first loads the data, and says so in a collection of its run, which
// has a record for each share: the first one's says what was loaded and under which names, those of the others that they
// take part, and that they have ended. The first process waits for that before it looks at the records and removes all.

// ShareSuffix ends the name of the collection that says which processes share a run.
const ShareSuffix = "_share"

var shareName = regexp.MustCompile(`^load_[a-z2-7]{10}` + ShareSuffix + `$`)

// A Mark says that the first share has loaded the data of a run.
type Mark struct {
	Run        string // how the names of its collections begin
	Of         int    // shares
	Start      time.Time
	Workload   string // its name, and a hash of what its file says
	Seed       string
	Pace       string
	Data       string // a hash of the records
	Program    string
	Candidates map[string]Marked // by model
}

// A Marked is a candidate of which a mark says that it is loaded.
type Marked struct {
	Space  string // how the names of its collections begin
	Layout string // a hash of how the model keeps the collections
	Lacks  string // why the store cannot have the model, "" if it can
}

// Differs returns in what the load that was marked is another one than that of a share, "" if it is the same.
func (m *Mark) Differs(want *Mark) string {
	for _, d := range []struct{ what, first, here string }{
		{"number of shares", fmt.Sprint(m.Of), fmt.Sprint(want.Of)},
		{"workload file", m.Workload, want.Workload},
		{"seed", m.Seed, want.Seed},
		{"pace", m.Pace, want.Pace},
		{"program", m.Program, want.Program},
		{"data", "hash " + m.Data, "hash " + want.Data},
	} {
		if d.first != d.here {
			return fmt.Sprintf("its %s is %s, and here it is %s", d.what, d.first, d.here)
		}
	}
	return ""
}

func shareSchema(name string) repo.Schema {
	return repo.Schema{Collection: name, Partition: []string{"run"}, Sort: []string{"share"},
		Fields: map[string]string{"run": "string", "share": "int", "mark": "string", "ended": "bool"}}
}

// Announce says that the first share has loaded the data.
func (s *Store) Announce(ctx context.Context, m *Mark) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.Shared = m.Run + ShareSuffix
	if s.shares, err = repo.Open[map[string]any](ctx, s.Repo, shareSchema(s.Shared)); err != nil {
		return err
	}
	return s.shares.Insert(ctx, &map[string]any{"run": m.Run, "share": int64(1), "mark": string(text), "ended": false})
}

// Marks returns what other processes announced in the store.
func (s *Store) Marks(ctx context.Context) (list []*Mark, err error) {
	names, err := repo.Collections(ctx, s.Repo)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !shareName.MatchString(name) {
			continue
		}
		m, err := s.markIn(ctx, name)
		if err != nil {
			return nil, err
		}
		if m != nil {
			list = append(list, m)
		}
	}
	return list, nil
}

// markIn returns what one collection says, nil if that is nothing yet, or somebody else's.
func (s *Store) markIn(ctx context.Context, name string) (*Mark, error) {
	schema, err := repo.SchemaOf(ctx, s.Repo, name)
	want := shareSchema(name)
	if errors.Is(err, repo.ErrNotFound) || err == nil && (!slices.Equal(schema.Partition, want.Partition) || !slices.Equal(schema.Sort, want.Sort)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := repo.Open[map[string]any](ctx, s.Repo, schema, repo.WithoutDefine())
	if errors.Is(err, repo.ErrSchema) {
		return nil, nil // it is not made to the end
	}
	if err != nil {
		return nil, err
	}
	rec, err := r.Get(ctx, repo.Key{strings.TrimSuffix(name, ShareSuffix), int64(1)})
	if errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &Mark{}
	if text, _ := rec["mark"].(string); json.Unmarshal([]byte(text), m) != nil {
		return nil, nil
	}
	return m, nil
}

// Join says that a share takes part. Another process with the same share has repo.ErrExists.
func (s *Store) Join(ctx context.Context, m *Mark, share int) (err error) {
	if s.shares, err = repo.Open[map[string]any](ctx, s.Repo, shareSchema(m.Run+ShareSuffix), repo.WithoutDefine()); err != nil {
		return err
	}
	return s.shares.Insert(ctx, &map[string]any{"run": m.Run, "share": int64(share), "ended": false})
}

// End says that a share has ended.
func (s *Store) End(ctx context.Context, run string, share int) error {
	_, err := s.shares.Patch(ctx, repo.Key{run, int64(share)}, repo.Set("ended", true))
	return err
}

// Shares returns which shares of so many take no part, and which have not ended.
func (s *Store) Shares(ctx context.Context, run string, of int) (absent, open []int, err error) {
	for n := 2; n <= of; n++ {
		rec, err := s.shares.Get(ctx, repo.Key{run, int64(n)})
		switch ended, _ := rec["ended"].(bool); {
		case errors.Is(err, repo.ErrNotFound):
			absent, open = append(absent, n), append(open, n)
		case err != nil:
			return nil, nil, err
		case !ended:
			open = append(open, n)
		}
	}
	return absent, open, nil
}
