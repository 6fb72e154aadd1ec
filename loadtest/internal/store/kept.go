package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
)

// A run that keeps its collections has one more in the store, with a record for each candidate: what was loaded, and whether
// it is still as it was loaded. That is taken back before the first write, and said again when all writes are undone. So a
// run that ends in between leaves nothing that a later one would take.

// KeptSuffix ends the name of the collection that says what a run kept.
const KeptSuffix = "_kept"

const keptFormat = 1 // of the records of that collection; it goes up when they mean something else

var keptName = regexp.MustCompile(`^load_[a-z2-7]{10}` + KeptSuffix + `$`)

// A Kept is a candidate that a run kept.
type Kept struct {
	Run      string // how the names of its collections begin
	Space    string // and that of the candidate's
	Whole    bool   // it is as it was loaded
	Workload string
	Model    string
	Layout   string        // a hash of how the model keeps the collections
	Data     string        // a hash of the records
	Records  string        // how many, for people
	Seed     string        // that they were made with
	Stored   string        // a hash of the records as they were read, when they were loaded
	Loaded   time.Time     // when
	Took     time.Duration // to load them

	format int
}

// Differs returns why the candidate is not one that a run wants, "" if it is.
func (k *Kept) Differs(want *Kept) string {
	switch {
	case k.format > keptFormat:
		return "a newer program kept it"
	case k.format < keptFormat:
		return "an older program kept it"
	case !k.Whole:
		return "a run wrote to it, and did not put that back"
	case k.Seed != want.Seed:
		return fmt.Sprintf("it was loaded with seed %s, and this is %s", k.Seed, want.Seed)
	case k.Records != want.Records:
		return fmt.Sprintf("it has %s, and these are %s", k.Records, want.Records)
	case k.Data != want.Data:
		return "it has other records"
	case k.Layout != want.Layout:
		return "the model keeps its collections in another way now"
	}
	return ""
}

// keptSchema returns the schema of the collection that says what a run kept.
func keptSchema(run string) repo.Schema {
	fields := map[string]string{"run": "string", "space": "string", "format": "int", "whole": "bool", "loaded": "time", "took": "int"}
	for _, f := range []string{"workload", "model", "layout", "data", "records", "seed", "stored"} {
		fields[f] = "string"
	}
	return repo.Schema{Collection: run + KeptSuffix, Partition: []string{"run"}, Sort: []string{"space"}, Fields: fields}
}

// Keep says what a run kept.
func (s *Store) Keep(ctx context.Context, k *Kept) error {
	r, err := repo.Open[map[string]any](ctx, s.Repo, keptSchema(k.Run))
	if err != nil {
		return err
	}
	return r.Put(ctx, &map[string]any{"run": k.Run, "space": k.Space, "format": keptFormat, "whole": k.Whole, "workload": k.Workload, "model": k.Model, "layout": k.Layout,
		"data": k.Data, "records": k.Records, "seed": k.Seed, "stored": k.Stored, "loaded": k.Loaded, "took": int64(k.Took)})
}

// Kept returns what runs kept in the store, the newest first.
func (s *Store) Kept(ctx context.Context) (list []Kept, err error) {
	names, err := repo.Collections(ctx, s.Repo)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !keptName.MatchString(name) {
			continue
		}
		of, err := s.keptIn(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	slices.SortStableFunc(list, func(a, b Kept) int { return b.Loaded.Compare(a.Loaded) })
	return list, nil
}

// keptIn returns what one collection says, nothing if that is somebody else's.
func (s *Store) keptIn(ctx context.Context, name string) (list []Kept, err error) {
	schema, err := repo.SchemaOf(ctx, s.Repo, name)
	run := strings.TrimSuffix(name, KeptSuffix)
	want := keptSchema(run)
	if errors.Is(err, repo.ErrNotFound) || err == nil && (!slices.Equal(schema.Partition, want.Partition) || !slices.Equal(schema.Sort, want.Sort) || schema.Fields["format"] != want.Fields["format"]) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := repo.Open[map[string]any](ctx, s.Repo, schema, repo.WithoutDefine())
	if err != nil {
		return nil, err
	}
	for chunk, err := range r.Walk(ctx, "") {
		if err != nil {
			return nil, err
		}
		for _, rec := range chunk.Items {
			k := Kept{Run: run}
			text := func(field string) string { t, _ := rec[field].(string); return t }
			k.Space, k.Workload, k.Model, k.Layout = text("space"), text("workload"), text("model"), text("layout")
			k.Data, k.Records, k.Seed, k.Stored = text("data"), text("records"), text("seed"), text("stored")
			k.Whole, _ = rec["whole"].(bool)
			k.Loaded, _ = rec["loaded"].(time.Time)
			n, _ := rec["format"].(int64)
			took, _ := rec["took"].(int64)
			if k.format, k.Took = int(n), time.Duration(took); strings.HasPrefix(k.Space, run) {
				list = append(list, k)
			}
		}
	}
	return list, nil
}

// Claim takes what a run kept for this run, as if it was that one, and returns why it cannot, "" if it can.
func (s *Store) Claim(ctx context.Context, run string, began time.Time) (why string, err error) {
	if slices.Contains(s.claimed, run) {
		return "", nil
	}
	ctx = context.WithoutCancel(ctx) // close knows what was claimed, so that is done to the end
	r, err := repo.Open[map[string]any](ctx, s.Repo, TagSchema(run+TagSuffix))
	if err != nil {
		return "", err
	}
	tag := tagRecord(run, began)
	if err := r.Insert(ctx, &tag); !errors.Is(err, repo.ErrExists) {
		if err == nil {
			s.claimed = append(s.claimed, run)
		}
		return "", err
	}
	_, err = r.Update(ctx, repo.Key{run}, func(rec *map[string]any) error {
		l := leftoverOf(run, *rec)
		if why = l.UnderWay(time.Now()); why == "" { // it was killed
			maps.Copy(*rec, tagRecord(run, began))
		}
		return nil
	})
	if err == nil && why == "" {
		s.claimed = append(s.claimed, run)
	}
	return why, err
}

// Unclaim ends what Claim began: what was claimed is kept.
func (s *Store) Unclaim(ctx context.Context) error {
	var names []string
	for _, run := range s.claimed {
		names = append(names, run+TagSuffix)
	}
	_, err := s.Drop(ctx, names)
	return err
}

// Old reports whether records that live so long may end before a run does.
func (k *Kept) Old(ttl time.Duration, now time.Time) bool {
	return ttl > 0 && now.Sub(k.Loaded) > ttl-limit.MinTTL
}
