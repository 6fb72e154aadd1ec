package series

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/polystore/polystore/repo"
)

// A Point is what a series has at a time.
type Point interface{ Time() time.Time }

// A Schema says how points lie.
type Schema struct {
	// Collection is the name: a–z, 0–9 and '_', a letter first, at most 48 bytes.
	Collection string

	// Span is how much time a bucket is for, in whole milliseconds. Buckets begin at multiples of it after 1970, UTC. It
	// cannot be changed while there are points.
	Span time.Duration

	// Most is how many points a bucket has at most; 0 is 1,000. Each append of a point reads and writes its bucket, so
	// fewer make appends cheaper, and more make reads cheaper. All points of a bucket together have at most some 1 MB.
	Most int

	// Keep is for how long points are kept after the span of their bucket; 0 is for ever. They vanish with their bucket.
	Keep time.Duration

	// Unique keeps one point of a series at a time, by the millisecond: Append of another one is ErrExists, and adds none
	// of its span. So an append whose outcome is unknown may be sent again. Points that are later than all of their span
	// cost no more by it; for others, all points of the span are read. All programs must say it, with the same Most. A
	// bucket with as many bytes as a record may have is ErrTooLarge then; Most must be small enough.
	Unique bool
}

// A Collection holds the points of any number of series. It is for any number of goroutines, and programs.
type Collection[P Point] struct {
	buckets *repo.Repo[bucket[P]]
	schema  Schema

	mu   sync.Mutex
	ends map[place]end
}

// A bucket is a record: some of the points of a series in one span.
type bucket[P Point] struct {
	Series string    `repo:"series"`
	Start  time.Time `repo:"start"`
	Part   int64     `repo:"part"`
	Points []P       `repo:"points"`
	Until  time.Time `repo:",expires"`

	Version repo.Version `repo:",version"`
}

// An end is where the last append of this program to a span went.
type end struct {
	part    int64
	points  int          // which were in the bucket then
	version repo.Version // of the bucket then, zero where others append, too
	latest  int64        // where points are unique: the time of the last one in the span then
}

// A place is the bucket of a time.
type place struct {
	series string
	start  time.Time
}

// mostPlaces is how many places are remembered at once.
const mostPlaces = 10_000

// Open opens the series of a schema, and makes their collection if it is not there.
func Open[P Point](ctx context.Context, store *repo.Store, schema Schema, opts ...repo.OpenOption) (*Collection[P], error) {
	if schema.Most == 0 {
		schema.Most = 1000
	}
	if schema.Span < time.Millisecond || schema.Span%time.Millisecond != 0 || schema.Most < 0 || schema.Keep < 0 {
		err := fmt.Errorf("a span of %s with %d points, kept for %s; the span has whole milliseconds, and none is below 0: %w", schema.Span, schema.Most, schema.Keep, repo.ErrSchema)
		return nil, (&Collection[P]{schema: schema}).failed("open", err)
	}
	r, err := repo.Open[bucket[P]](ctx, store, repo.Schema{
		Collection: schema.Collection, Partition: []string{"series"}, Sort: []string{"-start", "-part"},
	}, opts...)
	if err != nil {
		return nil, err
	}
	return &Collection[P]{buckets: r, schema: schema, ends: map[place]end{}}, nil
}

// failed returns an error of a call.
func (c *Collection[P]) failed(op string, err error) error {
	return &repo.Error{Op: op, Collection: c.schema.Collection, Err: err}
}

// Append adds points to a series. Points of one span are added together or not at all, if they are no more than Most.
// Else, and those of several spans, they are added record by record, in no order: where it fails, some may be added, and
// the error is that of the others. Points that are over 1 MB together are ErrTooLarge; append fewer by one call.
func (c *Collection[P]) Append(ctx context.Context, series string, points ...P) error {
	byStart := map[time.Time][]P{}
	for _, p := range points {
		start := c.startOf(p.Time())
		byStart[start] = append(byStart[start], p)
	}
	var errs []error
	for start, list := range byStart {
		if c.schema.Unique && haveTwins(list, nil) {
			errs = append(errs, c.failed("append", errTwin))
			continue
		}
		for len(list) > 0 {
			n := min(len(list), c.schema.Most)
			errs = append(errs, c.add(ctx, place{series, start}, list[:n]))
			list = list[n:]
		}
	}
	return errors.Join(errs...)
}

// startOf returns when the bucket of a time begins.
func (c *Collection[P]) startOf(t time.Time) time.Time {
	span := c.schema.Span.Milliseconds()
	ms := t.UnixMilli()
	return time.UnixMilli(ms - ((ms%span)+span)%span).UTC()
}

var errFull = errors.New("the bucket is full")

// add adds points, no more than a bucket has, to the first part of a bucket with room for them. Where nobody else has
// written since the last append, a patch on that condition does, which need not look at the points that are there.
func (c *Collection[P]) add(ctx context.Context, at place, points []P) error {
	last := c.end(at)
	mine := !last.version.IsZero() && last.points+len(points) <= c.schema.Most && (!c.schema.Unique || earliest(points) > last.latest)
	if mine {
		v, err := c.buckets.PatchIf(ctx, c.key(at, last.part), last.version, push(points))
		if err == nil {
			c.remember(at, end{last.part, last.points + len(points), v, latest(points)})
			return nil
		}
		stale := errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrTooLarge)
		if !stale || errors.Is(err, repo.ErrUnknownOutcome) {
			return err
		}
	}
	part := last.part
	if c.schema.Unique {
		part = 0 // any of them may have a twin
	}
	newest := int64(math.MinInt64)
	for ; ; part++ { // a full one stays full
		b, err := c.update(ctx, at, part, points, &newest)
		if err == nil {
			now := end{part, len(b.Points), b.Version, max(newest, latest(points))}
			if mine { // and was not
				now.version = repo.Version{}
			}
			c.remember(at, now)
		}
		if !errors.Is(err, errFull) {
			return err
		}
	}
}

func (c *Collection[P]) key(at place, part int64) repo.Key {
	return repo.Key{at.series, at.start, part}
}

func push[P Point](points []P) repo.Edit {
	list := make([]any, len(points))
	for i, p := range points {
		list[i] = p
	}
	return repo.Push("points", 0, list...)
}

// update adds points to a part of a bucket, which it makes if it is not there, or is errFull. Newest becomes the time of
// the last one of those that are there, if that is later.
func (c *Collection[P]) update(ctx context.Context, at place, part int64, points []P, newest *int64) (bucket[P], error) {
	for {
		b, err := c.buckets.Update(ctx, c.key(at, part), func(b *bucket[P]) error {
			if c.schema.Unique && haveTwins(points, b.Points) {
				return errTwin
			}
			*newest = max(*newest, latest(b.Points))
			if len(b.Points)+len(points) > c.schema.Most {
				return errFull
			}
			b.Points = append(b.Points, points...)
			return nil
		})
		if errors.Is(err, repo.ErrTooLarge) && !c.schema.Unique {
			return b, errFull // by bytes
		}
		if !errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrUnknownOutcome) {
			return b, err
		}
		b = bucket[P]{Series: at.series, Start: at.start, Part: part, Points: points, Until: c.until(at)}
		err = c.buckets.Insert(ctx, &b)
		if !errors.Is(err, repo.ErrExists) || errors.Is(err, repo.ErrUnknownOutcome) {
			return b, err
		} // else another program was faster
	}
}

// until returns when a bucket expires.
func (c *Collection[P]) until(at place) time.Time {
	if c.schema.Keep == 0 {
		return time.Time{}
	}
	return at.start.Add(c.schema.Span + c.schema.Keep)
}

func (c *Collection[P]) end(at place) end {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends[at]
}

func (c *Collection[P]) remember(at place, e end) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ends) >= mostPlaces {
		clear(c.ends)
	}
	c.ends[at] = e
}
