package loadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/measure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Share is the part of a load that one process sends, of several that begin at the same time. The first one loads the
// data, compares the answers, verifies the indexes and removes all; the others wait for it. [Merge] makes one result.
type Share struct {
	Number int // from 1
	Of     int
	Start  time.Time // of the first round, the same for all

	pause time.Duration // between two rounds; 0 is as long as calls may go on, and some more
}

// Merge makes one result of the result files of all shares of a run. Files that do not belong together are refused.
func Merge(files []string) (*Result, error) { return report.Merge(files) }

// check says why a workload cannot be shared so.
func (s *Share) check(w *workload.Workload, o *Options, now time.Time) error {
	why := ""
	switch {
	case s.Of < 1 || s.Of > limit.MaxShares || s.Number < 1 || s.Number > s.Of:
		why = fmt.Sprintf("there is no share %d of %d; shares are --share 1/N to --share N/N, and N is %d at most", s.Number, s.Of, limit.MaxShares)
	case s.Start.IsZero():
		why = "a share has no start; name one for all shares, " + s.later(now)
	case !s.Start.After(now):
		why = fmt.Sprintf("the start, %s, is past; name a time by which the data are loaded, %s", s.Start.Format(time.RFC3339), s.later(now))
	case s.Start.Sub(now) > limit.MaxAhead:
		why = fmt.Sprintf("the start, %s, is more than %v ahead; name an earlier one, %s", s.Start.Format(time.RFC3339), limit.MaxAhead, s.later(now))
	case w.Trace != nil:
		why = "the operations of a trace are not shared; let one process send them, without --share"
	case o.Max:
		why = "shares have one rate, and --max looks for others; say --max or --share"
	case o.Faults != "":
		why = "faults are of one process's network and server; say --fault or --share"
	case s.Number > 1 && (o.Keep || o.Reuse):
		why = "share 1 loads the data for all, so it alone may --keep or --reuse them"
	case w.RoundOps()/2 < s.Of:
		why = fmt.Sprintf("a round has %s, which are too few for %d shares; make it longer (--round), the rate higher (--rate), or take fewer shares", format.Plural(w.RoundOps(), "operation"), s.Of)
	case w.Slots < s.Of:
		why = fmt.Sprintf("there are %s, too few for %d shares; say more in the workload file (slots)", format.Plural(w.Slots, "slot"), s.Of)
	default:
		return nil
	}
	return fmt.Errorf("%s: %w", why, driver.ErrInvalid)
}

// later returns an example of a start.
func (*Share) later(now time.Time) string {
	return "as in --start-at " + now.Add(5*time.Minute).UTC().Truncate(time.Minute).Format(time.RFC3339)
}

// A sharing is what a run knows of the other shares.
type sharing struct {
	*run
	group string                      // the name of the first share's run
	marks map[*store.Store]store.Mark // that it joined
}

// joins reports whether another process loads the data.
func (r *sharing) joins() bool { return r.opts.Share != nil && r.opts.Share.Number > 1 }

// leads reports whether this process loads the data for others.
func (r *sharing) leads() bool { return r.opts.Share != nil && r.opts.Share.Number == 1 }

// part returns what this process sends, nil if that is all.
func (r *sharing) part() *measure.Share {
	s := r.opts.Share
	if s == nil {
		return nil
	}
	pause := s.pause
	if pause == 0 {
		pause = limit.Grace(r.w.Round) + limit.ShareSlack
	}
	return &measure.Share{Number: s.Number, Of: s.Of, Start: s.Start, Every: r.w.Round + pause}
}

// claim says in a store that collections whose names begin so are of this run, or joins the run that made them.
func (r *sharing) claim(ctx context.Context, st *store.Store, name string) error {
	if r.joins() {
		return r.join(ctx, st)
	}
	r.group = name
	return st.Tag(ctx, name, r.began)
}

// shareable says why a store cannot have a share of a load.
func (r *sharing) shareable(st *store.Store) error {
	if r.opts.Share != nil && st.InProcess() {
		return fmt.Errorf("%s is a store of one process, and --share is for several; name a store on servers, as in --on redis://HOST:6379: %w", st.URL, driver.ErrInvalid)
	}
	return nil
}

// mark returns what all shares of the run have in common.
func (r *sharing) mark(ctx context.Context) (store.Mark, error) {
	if r.summed == "" {
		if err := r.sum(ctx); err != nil {
			return store.Mark{}, err
		}
	}
	w := r.w
	return store.Mark{Run: r.group, Of: r.opts.Share.Of, Start: r.opts.Share.Start.UTC(), Workload: strings.TrimSpace(w.Name + " " + r.fingerprint), Seed: strconv.FormatUint(w.Seed, 10),
		Pace: fmt.Sprintf("%d/s, %d rounds of %v, %d slots", w.Rate, w.Rounds, w.Round, w.Slots), Data: r.summed, Program: Version(), Candidates: map[string]store.Marked{}}, nil
}

// announce says in all stores that the data are loaded, and waits for the other shares.
func (r *sharing) announce(ctx context.Context, _ *operation.Stream) error {
	if !r.leads() {
		return nil
	}
	for _, st := range r.stores {
		m, err := r.mark(ctx)
		if err != nil {
			return err
		}
		for _, c := range slices.Concat(r.candidates, r.absent) {
			if c.Store == st {
				m.Candidates[c.Model.Name] = store.Marked{Space: c.Kept.Space, Layout: c.Kept.Layout, Lacks: c.Lacks}
			}
		}
		if err := st.Announce(ctx, &m); err != nil {
			return err
		}
	}
	s := r.opts.Share
	r.progress.Say("the data are loaded; the rounds begin at %s", s.Start.Format(time.RFC3339))
	for {
		absent, _, err := r.stores[0].Shares(ctx, r.group, s.Of)
		if err != nil || len(absent) == 0 {
			return err
		}
		if !time.Now().Before(s.Start) {
			return fmt.Errorf("the start, %s, has come, and no process is share %s of %d; begin all shares anew, with a later --start-at: this one had loaded and compared after %v",
				s.Start.Format(time.RFC3339), numbers(absent), s.Of, time.Since(r.began).Round(time.Second))
		}
		if err := look(ctx); err != nil {
			return err
		}
	}
}

func numbers(list []int) string {
	var parts []string
	for _, n := range list {
		parts = append(parts, strconv.Itoa(n))
	}
	return format.Joined(parts)
}

// look waits until it is time to look at other shares again.
func look(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(limit.ShareLook):
		return nil
	}
}

// join waits until the first share has loaded the data into a store, and takes part.
func (r *sharing) join(ctx context.Context, st *store.Store) error {
	want, err := r.mark(ctx)
	if err != nil {
		return err
	}
	s := r.opts.Share
	r.progress.Say("share %d of %d waits until share 1 has loaded the data into %s", s.Number, s.Of, st.URL)
	for {
		m, err := found(ctx, st, &want)
		switch {
		case err != nil:
			return err
		case m != nil:
			if err := st.Join(ctx, m, s.Number); errors.Is(err, repo.ErrExists) {
				return fmt.Errorf("another process is share %d of %d already; give each another number, as in --share 1/%d: %w", s.Number, s.Of, s.Of, driver.ErrInvalid)
			} else if err != nil {
				return err
			}
			r.group, r.marks[st] = m.Run, *m
			return nil
		case !time.Now().Before(s.Start):
			return fmt.Errorf("the start, %s, has come, and share 1 has not loaded the data into %s; begin share 1, too, with the same --start-at, and all shares anew with a later one",
				s.Start.Format(time.RFC3339), st.URL)
		}
		if err := look(ctx); err != nil {
			return err
		}
	}
}

// found returns the mark of the load that a share is of, nil if there is none yet.
func found(ctx context.Context, st *store.Store, want *store.Mark) (one *store.Mark, err error) {
	list, err := st.Marks(ctx)
	if err != nil {
		return nil, err
	}
	why := ""
	for _, m := range list {
		if !m.Start.Equal(want.Start) {
			continue
		}
		if text := m.Differs(want); text != "" {
			why = text
			continue
		}
		if one != nil {
			return nil, fmt.Errorf("runs %s and %s both have share 1 with this start; begin all shares anew, with another --start-at", one.Run, m.Run)
		}
		one = m
	}
	if one == nil && why != "" {
		return nil, fmt.Errorf("share 1 with this start is of another load: %s; give all shares the same file and flags: %w", why, driver.ErrInvalid)
	}
	return one, nil
}

// attach takes the collections of a candidate that the first share loaded.
func (r *sharing) attach(ctx context.Context, c *candidate.Candidate) error {
	mark := r.marks[c.Store]
	x, ok := mark.Candidates[c.Model.Name]
	switch {
	case !ok:
		return fmt.Errorf("share 1 did not load it; give all shares the same file and flags: %w", driver.ErrInvalid)
	case x.Lacks != "":
		c.Lacks = x.Lacks
		return nil
	case x.Layout != c.Kept.Layout:
		return fmt.Errorf("share 1 keeps its collections in another way; give all shares the same file and flags: %w", driver.ErrInvalid)
	}
	k := c.Kept
	k.Run, k.Space = mark.Run, x.Space
	return c.Take(ctx, r.w, k)
}

// sampled lets a measurement go on behind the writes that the first share sent to compare the models.
func (r *sharing) sampled(m *measure.Measurement, s *operation.Stream) {
	for i, q := range r.w.Queries {
		if r.joins() && q.Writes() {
			m.Sampled(s.Only(i, limit.SampledWrites, i*limit.SampledWrites))
		}
	}
}

// gather waits until the other shares have ended, so that nobody writes any more.
func (r *sharing) gather(ctx context.Context, _ *operation.Stream) error {
	if !r.leads() {
		return nil
	}
	for began := time.Now(); ; {
		_, open, err := r.stores[0].Shares(ctx, r.group, r.opts.Share.Of)
		if err != nil || len(open) == 0 {
			return err
		}
		if time.Since(began) > limit.ShareTime {
			r.progress.Say("note: the end of share %s of %d has not come within %v, and is not waited for", numbers(open), r.opts.Share.Of, limit.ShareTime)
			return nil
		}
		if err := look(ctx); err != nil {
			return err
		}
	}
}

// leave says in a store that this share has ended. The first share may have removed everything already.
func (r *sharing) leave(st *store.Store, ended error) error {
	mark, joined := r.marks[st]
	if !joined {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit.AnswerTime)
	defer cancel()
	if err := st.End(ctx, mark.Run, r.opts.Share.Number); ended == nil && !errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrSchema) {
		return err
	}
	return nil
}

// follows reports whether what all processes write is known here: not if a journey writes to what it found.
func (r *sharing) follows() bool {
	return r.opts.Share == nil || !slices.ContainsFunc(r.w.Queries, func(q *workload.Query) bool {
		return slices.ContainsFunc(q.Steps, func(s workload.Step) bool { return r.w.Queries[s.At].Writes() })
	})
}

// share returns which share the result is of.
func (r *sharing) share() *report.ShareResult {
	s := r.opts.Share
	if s == nil {
		return nil
	}
	var layouts []string
	for _, c := range r.candidates {
		layouts = append(layouts, c.Kept.Layout)
	}
	return &report.ShareResult{Number: s.Number, Of: s.Of, Start: s.Start.UTC(), Group: r.group, Data: r.summed, Layout: hash([]byte(strings.Join(layouts, "\n")))}
}
