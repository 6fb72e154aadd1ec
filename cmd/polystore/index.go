package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
)

const indexAbout = `Adds an index to a collection, or drops one, while programs read and write, and prints what
there is.

  status   print the indexes, and how far those are that are being built
  add      add an index, fill it, and wait until it is ready; interrupted, it goes on the next time
  drop     drop an index; one that is being built is given up

The programs that keep the index in step need not declare it. One that asks it must.`

func index(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	const want = "ACTION URL COLLECTION [INDEX]"
	fs := newFlags("index", want, indexAbout, "polystore index status redis://localhost:6379 posts\npolystore index add redis://localhost:6379 posts --partition author --sort=-created\npolystore index drop redis://localhost:6379 posts by_author", stderr)
	x := repo.Index{}
	list := func(into *[]string) func(string) error {
		return func(text string) error { *into = strings.Split(text, ","); return nil }
	}
	fs.Func("partition", "fields that a query must fix, with commas between them", list(&x.Partition))
	fs.Func("sort", "fields that order what it finds; -FIELD puts greater values first", list(&x.Sort))
	fs.Func("covers", "fields that its rows carry; * is the whole record", list(&x.Covers))
	fs.BoolVar(&x.Unique, "unique", false, "refuse a second record with the same values")
	fs.IntVar(&x.Buckets, "buckets", 0, "spread each partition over so many")
	fs.StringVar(&x.Kind, "kind", "", "table or native; left out, the library chooses")
	rate := fs.Int("rate", 0, "read at most this number of records in a second, without rests; 0 leaves room for writers")
	rest, err := parse(fs, args, want, stdout)
	if err != nil {
		return err
	}
	action, url, collection := rest[0], rest[1], rest[2]
	if *rate < 0 {
		return usageError("index: --rate is %d; want 0 or more", *rate)
	}
	if len(rest) > 3 {
		x.Name = rest[3]
	}
	store, err := backends.Open(ctx, existing(url), nil)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	switch {
	case action == "status" && len(rest) == 3:
		err = indexStatus(ctx, store, collection, stdout)
	case action == "add" && len(x.Partition)+len(x.Sort) > 0:
		err = (&adding{store, collection, *rate, stdout}).add(ctx, x)
	case action == "drop" && len(rest) == 4:
		if err = repo.DropIndex(ctx, store, collection, x.Name); err == nil {
			fmt.Fprintf(stdout, "%s: dropped %s\n", collection, x.Name)
		}
	default:
		return usageError("index: want status URL COLLECTION, add URL COLLECTION [INDEX] with --partition or --sort, or drop URL COLLECTION INDEX")
	}
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	return nil
}

// An adding adds an index to a collection that is there, and tells how far it is.
type adding struct {
	store      *repo.Store
	collection string
	rate       int // records a second; 0 leaves room for writers
	stdout     io.Writer
}

func (a *adding) add(ctx context.Context, x repo.Index) error {
	schema, err := repo.SchemaOf(ctx, a.store, a.collection)
	if err != nil {
		return err
	}
	name, err := namedAlready(schema, x)
	if err != nil {
		return err
	}
	if name == "" {
		schema.Indexes = append(schema.Indexes, x)
	}
	build := repo.WithBuild()
	if a.rate > 0 {
		build = repo.WithBuildRate(a.rate)
	}
	r, err := repo.Open[map[string]any](ctx, a.store, schema, build)
	if err != nil {
		return err
	}
	schema, err = repo.SchemaOf(ctx, a.store, a.collection)
	if err != nil {
		return err
	}
	if name, err = namedAlready(schema, x); err != nil {
		return err
	}
	if err := a.await(ctx, r, name); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s: index %s is ready\n", a.collection, name)
	return nil
}

// namedAlready returns the name of an index that a schema has and that is declared like x, or "". Another index of
// x's name is an error.
func namedAlready(schema repo.Schema, x repo.Index) (string, error) {
	for _, o := range schema.Indexes {
		same := slices.Equal(o.Partition, x.Partition) && slices.Equal(o.Sort, x.Sort) && slices.Equal(o.Covers, x.Covers) &&
			o.Unique == x.Unique && max(o.Buckets, 1) == max(x.Buckets, 1) && (x.Kind == "" || x.Kind == o.Kind)
		switch {
		case same && (x.Name == "" || x.Name == o.Name):
			return o.Name, nil
		case x.Name == o.Name:
			return "", fmt.Errorf("collection %s has an index %s, %s; give the new one another name, or drop that one: %w", schema.Collection, x.Name, o, repo.ErrExists)
		}
	}
	return "", nil
}

// tellEvery is how often it is told how far an index is.
const tellEvery = 5 * time.Second

// await waits for an index, and tells how far it is.
func (a *adding) await(ctx context.Context, r *repo.Repo[map[string]any], name string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	total := make(chan int, 1)
	if a.rate == 0 { // or counting would read faster
		go countAll(ctx, r, total)
	}
	var p indexProgress
	for {
		some, stop := context.WithTimeout(ctx, tellEvery)
		err := r.Ready(some, name)
		stop()
		if err == nil || ctx.Err() != nil || !errors.Is(err, repo.ErrTimeout) {
			return err
		}
		select {
		case p.total = <-total:
		default:
		}
		states, err := repo.IndexStates(ctx, a.store, a.collection)
		if err != nil {
			return err
		}
		for _, s := range states {
			if s.Name == name {
				fmt.Fprintf(a.stdout, "%s: index %s is %s%s\n", a.collection, name, s.State, p.after(s.Filled, time.Now()))
			}
		}
	}
}

// countAll sends the number of records, unless it cannot read them.
func countAll(ctx context.Context, r *repo.Repo[map[string]any], total chan<- int) {
	n := 0
	for chunk, err := range r.Walk(ctx, "") {
		if err != nil {
			return
		}
		n += len(chunk.Items)
	}
	total <- n
}

// An indexProgress is how far the filling of an index is.
type indexProgress struct {
	total int // records, 0 if nobody knows
	from  int // as many were read at a time
	since time.Time
}

// after returns what is to be told after the reading of some records: how many these are, of how many, and the time
// left if the rest is as fast.
func (p *indexProgress) after(filled int, now time.Time) string {
	switch {
	case filled == 0:
		return ""
	case p.since.IsZero():
		p.from, p.since = filled, now
	}
	if p.total < filled {
		return fmt.Sprintf(", %d records read", filled)
	}
	text := fmt.Sprintf(", %d of %d records read", filled, p.total)
	if filled > p.from {
		left := now.Sub(p.since).Seconds() / float64(filled-p.from) * float64(p.total-filled)
		text += fmt.Sprintf(", about %.0f s left", left)
	}
	return text
}

func indexStatus(ctx context.Context, store *repo.Store, collection string, stdout io.Writer) error {
	states, err := repo.IndexStates(ctx, store, collection)
	if err != nil {
		return err
	}
	for _, s := range states {
		switch {
		case s.Refused != "":
			fmt.Fprintf(stdout, "%s: could not be built: %s\n", s.Name, s.Refused)
		case s.State == "written":
			fmt.Fprintf(stdout, "%s: written%s, %d records read; %s\n", s.Name, since(s), s.Filled, declaration(s.Index))
		default:
			fmt.Fprintf(stdout, "%s: %s%s; %s\n", s.Name, s.State, since(s), declaration(s.Index))
		}
	}
	if len(states) == 0 {
		fmt.Fprintln(stdout, "the collection has no index")
	}
	return nil
}

// since says since when an index is in its state, if that is known.
func since(s repo.IndexState) string {
	if s.Since.IsZero() {
		return ""
	}
	return " since " + s.Since.Format("2006-01-02 15:04:05 UTC")
}

// declaration returns what an index is, as the flags of add have it.
func declaration(x repo.Index) string {
	var flags []string
	add := func(flag, value string) {
		if value != "" {
			flags = append(flags, "--"+flag+"="+value)
		}
	}
	add("partition", strings.Join(x.Partition, ","))
	add("sort", strings.Join(x.Sort, ","))
	add("covers", strings.Join(x.Covers, ","))
	if x.Buckets > 1 {
		add("buckets", strconv.Itoa(x.Buckets))
	}
	if x.Unique {
		flags = append(flags, "--unique")
	}
	add("kind", x.Kind)
	return strings.Join(flags, " ")
}
