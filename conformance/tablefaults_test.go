package conformance

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/spi"
	"github.com/polystore/polystore/repo/driver"
)

func tableFaults() map[string]fault {
	all := grouped("catalog and schema", map[string]fault{
		"facts":             func(b *broken) { b.facts = func(f *driver.Facts) { f.Native = driver.Ability{} } },
		"abilities":         func(b *broken) { b.hidden = true },
		"define again":      defineClears(),
		"define at once":    defineClears(),
		"other key columns": nothingIsSchema,
		"new fields":        fixedFields(),
		"anew where there were fields of others": gotFault(func(t *driver.Table, r *driver.Row) {
			if len(t.Fields) == 3 && !r.Dead && len(r.Fields) == 3 && r.Fields[0].Str() == "z" {
				r.Fields[2] = driver.StringValue("")
			}
		}),
		"table names": func(b *broken) {
			b.define = func(ctx context.Context, tables []*driver.Table) error {
				if len(tables[0].Name) > 63 {
					return driver.ErrInvalid
				}
				return b.Store.Define(ctx, tables)
			}
		},
		"attach":         attachRefuses,
		"attach nothing": func(b *broken) { b.attach = b.Store.Define },
		"drop":           dropsNothing,
		"counter": func(b *broken) {
			b.count = func(ctx context.Context, s driver.Span) (int, error) { s.Limit = 0; return b.Store.Count(ctx, s) }
		},
		"sizer":                        func(b *broken) { b.size = func(context.Context, *driver.Table) (int64, error) { return 0, nil } },
		"open twice":                   defineClears(),
		"open at once":                 defineClears(),
		"interrupted open":             dropsNothing,
		"another key":                  noCatalog(),
		"another kind":                 noCatalog(),
		"field added":                  fixedFields(),
		"without define":               attachRefuses,
		"drop collection":              dropsNothing,
		"index in an empty collection": noRows(),
		"index on records":             walksNothing,
		"index of another program":     buildsAmongOthers,
		"another way":                  noCatalog(),
		"lacking index":                noRows(),
		"build":                        walksPast(),
		"build refused":                freeForAll(),
		"rebuild":                      checksAlone,
	})
	maps.Copy(all, nativeFaults())
	return all
}

func nativeFaults() map[string]fault {
	return grouped("catalog and schema", map[string]fault{
		"native":             takesNative,
		"native definitions": func(b *broken) { nothingIsSchema(b) },
		"native spans":       spanFault(func(s *driver.Span) { s.To = "" }),
		"native elements":    upTo(1),
		"native unique": func(b *broken) {
			b.answer = func(_ driver.Token, _ []driver.Op, refusal *driver.Refusal, err error) (*driver.Refusal, error) {
				if refusal != nil {
					refusal.Native = ""
				}
				return refusal, err
			}
		},
		"followed": func(b *broken) {
			b.follow = func(trail *driver.Trail, _ *int) bool { trail.Depth = 0; return true }
		},
		"grouped": func(b *broken) {
			b.grouped = func(g *driver.Group) bool { g.Count = max(g.Count, 2); return true }
		},
		"followed at once": func(b *broken) {
			b.follow = func(*driver.Trail, *int) bool {
				time.Sleep(time.Millisecond) // for others to come between
				return true
			}
		},
		"local native definitions": func(b *broken) { nothingIsSchema(b) },
		"local native spans":       spanFault(func(s *driver.Span) { s.To = "" }),
		"local native values":      valueFault(textsAs(strings.ToLower)),
		"local native queries":     upTo(2),
		"local native on records":  rowFault(func(s *driver.Span, n int, _ *driver.Row) bool { return n > 0 || !s.Table.Native }),
		"native walk":              listsLess(),
		"native verify": func(b *broken) {
			listsLess()(b)
			b.row = func(s *driver.Span, n int, _ *driver.Row) bool { return n > 0 || !s.Table.Native }
		},
	})
}

// nothingIsSchema takes a table with other key columns for the one that there is.
func nothingIsSchema(b *broken) {
	forgive := func(call func(context.Context, []*driver.Table) error) func(context.Context, []*driver.Table) error {
		return func(ctx context.Context, tables []*driver.Table) error {
			if err := call(ctx, tables); !errors.Is(err, driver.ErrSchema) {
				return err
			}
			return nil
		}
	}
	b.define, b.attach = forgive(b.Store.Define), forgive(b.Store.Attach)
}

// buildsAmongOthers says to all but the first who ask that nobody else writes.
func buildsAmongOthers(b *broken) {
	asked := 0
	b.facts = func(f *driver.Facts) {
		asked++
		f.OneProcess = asked > 2 // the suite and its repositories are the first
	}
}

func dropsNothing(b *broken) {
	b.drop = func(context.Context, []*driver.Table) error { return nil }
}

// listsLess leaves the first entry of each chunk of a native index out.
func listsLess() fault {
	return chunkFault(func(t *driver.Table, _ int, c *driver.Chunk) bool {
		if t.Native {
			c.Rows = c.Rows[min(1, len(c.Rows)):]
		}
		return true
	})
}

// takesNative makes a plain table of a native index.
func takesNative(b *broken) {
	b.define = func(ctx context.Context, tables []*driver.Table) error {
		var plain []*driver.Table
		for _, t := range tables {
			if t.Native {
				twin := *t
				twin.Native = false
				t = &twin
			}
			plain = append(plain, t)
		}
		return b.Store.Define(ctx, plain)
	}
}

func walksNothing(b *broken) {
	b.walk = func(context.Context, *driver.Table, string) iter.Seq2[driver.Chunk, error] {
		return func(func(driver.Chunk, error) bool) {}
	}
}

func outcomeFaults() map[string]fault {
	all := grouped("outcomes", map[string]fault{
		"ring": gotFault(func(_ *driver.Table, r *driver.Row) { r.Ring = r.Ring[:min(1, len(r.Ring))] }),
		"fences in the ring": gotFault(func(_ *driver.Table, r *driver.Row) {
			if len(r.Ring) > 0 && r.Ring[0] != r.Rev {
				r.Ring = append([]driver.Token{r.Rev}, r.Ring...)
			}
		}),
		"no ring":                gotFault(func(_ *driver.Table, r *driver.Row) { r.Ring = append(r.Ring[:0], r.Rev) }),
		"sent again":             forgetsTokens(0),
		"sent again later":       forgetsTokens(1),
		"answer lost":            losesRing(),
		"request lost":           otherRev(),
		"unknown":                opFault(func(_ *broken, op *driver.Op) bool { return op.If != driver.AtRev }),
		"resolve committed":      losesRing(),
		"resolve not committed":  noFences(),
		"resolve a patch":        noFences(),
		"resolve a blind patch":  losesRing(),
		"votes in trouble":       losesRing(),
		"resolve an insert":      noFences(),
		"resolve on a tombstone": losesRing(),
		"not yet durable":        losesRing(),
		"outcome as text":        losesRing(),
		"tombstones":             gotFault(func(_ *driver.Table, r *driver.Row) { r.Dead = false }),
		"unknown and found":      noRows(),
		"unknown values":         noFences(),
	})
	for id, f := range grouped("outcomes", resentFaults()) {
		all[id] = f
	}
	for id, f := range grouped("walk and scan", map[string]fault{
		"walk":                     walksPast(),
		"empty table":              walksGhosts,
		"marks":                    fromTheStart,
		"bad marks":                anyMark,
		"chunks for good":          sharedChunks,
		"walk at once":             walksByPosition,
		"rows that cannot be read": stopsAtOdd,
		"walk records":             walksPast(),
		"scan":                     walksPast(),
		"scan without an index":    walksNothing,
		"scan leaves out":          walksPast(),
	}) {
		all[id] = f
	}
	for id, f := range limitFaults() {
		all[id] = f
	}
	return all
}

func limitFaults() map[string]fault {
	return grouped("errors and limits", map[string]fault{
		"wrapped": func(b *broken) {
			b.get = func(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
				return bare(b.Store.Get(ctx, t, keys, mask, rows))
			}
		},
		"ended contexts":         deafGets(),
		"loop that is cancelled": deafRanges(),
		"ended verbs":            deafCommits(),
		"key limit":              opFault(func(_ *broken, op *driver.Op) bool { return len(op.Row.Key.Partition+op.Row.Key.Sort) < 1000 }),
		"record limit":           valueFault(textsAs(cuts(1 << 16))),
		"text keys":              valueFault(odd),
	})
}

// forgetsTokens knows a token that comes again only if it is among the newest n of
// its row.
func forgetsTokens(n int) fault {
	return func(b *broken) {
		b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			ring := b.stored(&ops[0]).Ring
			if at := slices.Index(ring, token); at >= n {
				token = driver.NewToken()
			}
			return b.Store.Commit(ctx, token, ops)
		}
	}
}

// walksGhosts yields a row of a table that has none.
func walksGhosts(b *broken) {
	b.walk = func(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
		return func(yield func(driver.Chunk, error) bool) {
			any := false
			for c, err := range b.Store.Walk(ctx, t, mark) {
				any = true
				if !yield(c, err) {
					return
				}
			}
			if !any && t.Name[0] != '_' {
				yield(driver.Chunk{Rows: []driver.Row{{Key: driver.Key{Partition: "ghost#"}}}}, nil)
			}
		}
	}
}

// fromTheStart does not look at marks.
func fromTheStart(b *broken) {
	b.walk = func(ctx context.Context, t *driver.Table, _ string) iter.Seq2[driver.Chunk, error] {
		return b.Store.Walk(ctx, t, "")
	}
}

// anyMark begins anew at a mark that it does not know.
func anyMark(b *broken) {
	b.walk = func(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
		for _, err := range b.Store.Walk(ctx, t, mark) {
			if errors.Is(err, driver.ErrInvalid) {
				return b.Store.Walk(ctx, t, "")
			}
			break
		}
		return b.Store.Walk(ctx, t, mark)
	}
}

// sharedChunks writes every chunk over the one before it.
func sharedChunks(b *broken) {
	var rows []driver.Row
	b.chunk = func(_ *driver.Table, _ int, c *driver.Chunk) bool {
		rows = append(rows[:0], c.Rows...)
		c.Rows = rows
		return true
	}
}

// stopsAtOdd ends a walk at a row whose key has no end.
func stopsAtOdd(b *broken) {
	b.walk = func(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
		return func(yield func(driver.Chunk, error) bool) {
			for c, err := range b.Store.Walk(ctx, t, mark) {
				odd := slices.ContainsFunc(c.Rows, func(r driver.Row) bool { return strings.HasSuffix(r.Key.Sort, spi.OddEnd) })
				if odd {
					c, err = driver.Chunk{}, driver.ErrCorrupt
				}
				if !yield(c, err) || odd {
					return
				}
			}
		}
	}
}

// walksByPosition goes on by numbers of rows.
func walksByPosition(b *broken) {
	b.walk = func(ctx context.Context, t *driver.Table, _ string) iter.Seq2[driver.Chunk, error] {
		return func(yield func(driver.Chunk, error) bool) {
			for at := 0; ; at += 200 {
				var rows []driver.Row
				for c, err := range b.Store.Walk(ctx, t, "") {
					if err != nil {
						yield(driver.Chunk{}, err)
						return
					}
					rows = append(rows, c.Rows...)
				}
				if at >= len(rows) || !yield(driver.Chunk{Rows: rows[at:min(at+200, len(rows))], Mark: "more"}, nil) {
					return
				}
			}
		}
	}
}

func exampleFaults() map[string]fault {
	all := grouped("fixed examples", map[string]fault{
		"key and value":            forgets(driver.Absent, driver.Any),
		"user and password":        lostEdits,
		"scores":                   withoutFirst(),
		"documents":                valueFault(shorter),
		"addresses":                valueFault(shorter2),
		"music by category":        noRows(),
		"jobs":                     neighbours(),
		"categories of a user":     keyFault(replaces("user:10001", "user:1000")),
		"blog by category":         noRows(),
		"blog between dates":       upTo(1),
		"blog with names":          noRows(),
		"attachments and comments": withoutFirst(),
		"e-mail to user":           keepsRows(),
		"login counter":            noEdits,
		"user for a day":           staleRows(),
		"timeline":                 withoutLast(),
		"ages":                     noBucket(),
		"orders of a user":         withoutLast(),
		"hosts and messages":       upTo(1000),
		"hard drive":               firstElement(),
		"students and classes":     noRows(),
		"words":                    firstElement(),
		"tags of users":            firstElement(),
		"smoke shifter":            swapped(),
		"keys with colons":         keyFault(replaces(":sessions", "")),
	})
	for id, f := range grouped("close", map[string]fault{
		"closed":            staysOpen,
		"twice":             closesOnce,
		"under way":         slowWriters,
		"loops under way":   breaksLoops,
		"kept":              func(b *broken) { b.close = func() error { b.Store = memory.New(nil); return nil } },
		"closed repository": staysOpen,
	}) {
		all[id] = f
	}
	return all
}

// shorter2 loses the last element of a list.
func shorter2(v driver.Value) driver.Value {
	if v.Kind() == driver.List {
		return driver.ListValue(v.List()[:len(v.List())-1])
	}
	return v
}

// noEdits answers a patch without doing it.
func noEdits(b *broken) {
	b.op = func(op *driver.Op) bool {
		op.Edits = nil
		return true
	}
}

func closesOnce(b *broken) {
	b.close = func() error {
		if _, err := b.Store.Count(context.Background(), driver.Span{}); errors.Is(err, driver.ErrClosed) {
			return err
		}
		return b.Store.Close()
	}
}

// breaksLoops ends a loop under way at Close as if it were a defect.
func breaksLoops(b *broken) {
	b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
		return func(yield func(*driver.Row, error) bool) {
			for r, err := range b.Store.Range(ctx, s) {
				if err != nil {
					err = driver.ErrInternal
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// checksAlone does nothing of a commit that begins with a check.
func checksAlone(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		if ops[0].Do == driver.Check {
			ops = ops[:1]
		}
		return b.Store.Commit(ctx, token, ops)
	}
}

// A class of durability that is delayed has a delay, and no other has.
func TestDelayIsOfItsClass(t *testing.T) {
	for _, r := range rules() {
		if r.ID() != "catalog and schema/facts" {
			continue
		}
		for _, f := range []driver.Facts{{Durability: driver.Delayed}, {Durability: driver.Process, Delay: time.Second}} {
			broken := func(b *broken) {
				b.facts = func(all *driver.Facts) { all.Durability, all.Delay = f.Durability, f.Delay }
			}
			if _, noticed := errors.AsType[*finding.Mismatch](tried(t, &r, broken)); !noticed {
				t.Errorf("class %s with a delay of %s is not noticed", f.Durability, f.Delay)
			}
		}
		return
	}
	t.Fatal("there is no rule about the facts")
}
