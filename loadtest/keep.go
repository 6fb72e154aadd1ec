package loadtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/compare"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/store"
)

// describe notes what a candidate is, so that a later run knows whether it wants the same.
func (r *run) describe(ctx context.Context, c *candidate.Candidate) error {
	if !r.opts.Keep && !r.opts.Reuse && r.opts.Share == nil {
		return nil
	}
	if r.summed == "" {
		if err := r.sum(ctx); err != nil {
			return err
		}
	}
	layout := []any{c.Model.Schemas, c.Model.Forests}
	for i, of := range r.w.Collections {
		layout = append(layout, of.TTL)
		if s := c.Model.Series[i]; s != nil {
			layout = append(layout, s)
		}
		for _, j := range c.Model.Copies[of.At] {
			layout = append(layout, j.Field, j.From.Schema.Collection, j.Take)
		}
		if c.Model.Hosts[i] != nil {
			layout = append(layout, of.Schema.Collection+" in "+c.Model.Hosts[i].Schema.Collection)
		}
	}
	text, err := json.Marshal(layout)
	if err != nil {
		return err
	}
	c.Kept = store.Kept{Workload: r.w.Name, Model: c.Model.Name, Layout: hash(text), Data: r.summed, Records: r.counted(), Seed: strconv.FormatUint(r.w.Seed, 10)}
	return nil
}

// sum notes what sums up the data of all collections.
func (r *run) sum(ctx context.Context) error {
	var all []string
	for _, of := range r.w.Collections {
		sum, err := compare.ContentsOf(data.Records(ctx, r.w, of, r.data, func(data.Row) {}))
		if err != nil {
			return err
		}
		all = append(all, of.Schema.Collection+" "+sum.String())
	}
	r.summed = hash([]byte(strings.Join(all, "\n")))
	return nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// counted says how many records there are of each collection.
func (r *run) counted() string {
	var parts []string
	for i, of := range r.w.Collections {
		parts = append(parts, format.Count(r.data[i].Len)+" "+of.Schema.Collection)
	}
	return format.Joined(parts)
}

// reuse takes the collections of a candidate that an earlier run kept, if there are some that fit.
func (r *run) reuse(ctx context.Context, c *candidate.Candidate) error {
	if !r.opts.Reuse {
		return nil
	}
	list, err := c.Store.Kept(ctx)
	if err != nil {
		return err
	}
	reason := ""
	for i := range list {
		k := &list[i]
		if k.Workload != c.Kept.Workload || k.Model != c.Kept.Model {
			continue
		}
		why, err := r.take(ctx, c, k)
		if err != nil {
			return err
		}
		if why == "" {
			r.progress.Say("reuse %s, loaded on %s", c.Label, k.Loaded.Local().Format("2006-01-02 15:04"))
			return nil
		}
		reason = cmp.Or(reason, "what run "+k.Run+" kept does not fit: "+why)
	}
	r.progress.Say("load %s anew: %s", c.Label, cmp.Or(reason, "no run kept it"))
	return nil
}

// take takes collections that a run kept, and returns why it does not, "" if it does.
func (r *run) take(ctx context.Context, c *candidate.Candidate, k *store.Kept) (why string, err error) {
	if why := k.Differs(&c.Kept); why != "" {
		return why, nil
	}
	for _, of := range r.w.Collections {
		if k.Old(of.TTL, time.Now()) {
			return "its records expire soon", nil
		}
	}
	if why, err := c.Store.Claim(ctx, k.Run, r.began); why != "" || err != nil {
		return why, err
	}
	other := candidate.New(r.w, c.Store, c.Model, "")
	if err := other.Take(ctx, r.w, *k); err != nil {
		return err.Error(), ctx.Err()
	}
	stored, err := r.stored(ctx, other)
	if err != nil {
		return err.Error(), ctx.Err()
	}
	if stored != k.Stored {
		return "its records are not those that were loaded", nil
	}
	return "", c.Take(ctx, r.w, *k)
}

// stored returns what sums up the records of a candidate.
func (r *run) stored(ctx context.Context, c *candidate.Candidate) (string, error) {
	var all []string
	for _, of := range r.w.Collections {
		sum, err := compare.ContentsOf(c.Stored(ctx, of.At))
		if err != nil {
			return "", err
		}
		all = append(all, sum.String())
	}
	return strings.Join(all, " "), nil
}

// keeps reports whether the collections of a candidate are to stay.
func (r *run) keeps(c *candidate.Candidate) bool { return c.Taken || r.opts.Keep }

// loaded notes what a candidate that is to be kept has now, as it was loaded.
func (r *run) loaded(ctx context.Context, c *candidate.Candidate) (err error) {
	if c.Taken || !r.opts.Keep {
		return nil
	}
	c.Kept.Loaded, c.Kept.Took = time.Now(), c.Loaded
	c.Kept.Stored, err = r.stored(ctx, c)
	return err
}

// beforeWrites takes back that candidates are as they were loaded.
func (r *run) beforeWrites(ctx context.Context) error {
	r.wrote = true
	for _, c := range r.candidates {
		if c.Taken {
			if c.Kept.Whole = false; ctx.Err() == nil {
				if err := c.Store.Keep(ctx, &c.Kept); err != nil {
					return err
				}
			}
		}
	}
	return ctx.Err()
}

// keep puts back what the run changed in a candidate, and says in the store that it is as it was loaded. It returns why a
// later run cannot take it, "" if it can.
func (r *run) keep(ctx context.Context, c *candidate.Candidate, ended error) (why string, err error) {
	switch {
	case errors.As(ended, new(*failure.WrongAnswers)):
		why = "there were wrong answers"
	case c.Kept.Stored == "":
		why = "it was not loaded to the end"
	case r.wrote:
		why = r.restore(ctx, c)
	}
	c.Kept.Whole = why == ""
	return why, c.Store.Keep(ctx, &c.Kept)
}

// restore puts back what the run changed, and returns why that cannot be done.
func (r *run) restore(ctx context.Context, c *candidate.Candidate) string {
	if err := c.Restore(ctx, r.w, r.data); err != nil {
		return err.Error()
	}
	switch stored, err := r.stored(ctx, c); {
	case err != nil:
		return err.Error()
	case stored != c.Kept.Stored:
		return "its records are not those that were loaded"
	}
	return ""
}

// keepAll keeps the candidates of a store that are to stay, and returns what else there is to be removed.
func (r *run) keepAll(s *store.Store, ended error) (names []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit.RestoreTime)
	defer cancel()
	for _, c := range append(r.candidates[:len(r.candidates):len(r.candidates)], r.absent...) {
		switch {
		case c.Store != s:
		case !r.keeps(c) || c.Lacks != "":
			names = append(names, c.Names...)
		case len(c.Names) > 0:
			why, failed := r.keep(ctx, c, ended)
			if err = errors.Join(err, failed); why != "" {
				why = fmt.Sprintf(" (not for --reuse: %s)", why)
			}
			r.progress.Say("kept %s: %s%s", c.Label, strings.Join(c.Names, ", "), why)
		}
	}
	return names, err
}
