package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

// workers is how many rules Check runs at once.
const workers = 16

// Check runs everything on a store and reports what it found. The error is nil
// whatever rules fail; it says that the store could not be opened, which alone has no report,
// or that the run was broken off, and the report says after how much.
func Check(ctx context.Context, open Open, opts Options) (*Report, error) {
	return checkWithin(ctx, usual, open, opts)
}

// checkWithin is Check with limits of its own.
func checkWithin(ctx context.Context, l limits, open Open, opts Options) (*Report, error) {
	opts = opts.withDefaults()
	if part, found := opts.idle(); found {
		return nil, fmt.Errorf("no rule begins with %q; the groups are %s: %w", part, strings.Join(append(rule.AllGroups(), randomGroup, historyGroup, killGroup), ", "), driver.ErrInvalid)
	}
	began := time.Now()
	o := newObserver()
	defer o.close()
	s, err := openSuite(ctx, l, open, o)
	if err != nil {
		return nil, err
	}
	s.draws(opts)
	c := &checking{suite: s, opts: opts, report: newReport(s.Facts, opts.Seed, began)}
	err = s.define(ctx)
	if err == nil {
		c.rules(ctx)
		c.random(ctx)
		c.histories(ctx)
	} else {
		c.report.Problems = append(c.report.Problems, "no rule was run: "+err.Error())
	}
	c.end(ctx, err == nil)
	c.report.findCause()
	c.report.BrokenOff = ctx.Err() != nil
	c.report.count(began)
	if broken := ctx.Err(); broken != nil {
		return c.report, fmt.Errorf("conformance run broken off: %w", errors.Join(broken, err))
	}
	return c.report, nil
}

// A checking is a run of Check.
type checking struct {
	*suite
	opts   Options
	report *Report

	counted sync.Mutex
	done    int
}

// more reports whether anything more is to be begun.
func (c *checking) more(ctx context.Context) bool { return ctx.Err() == nil && !c.hangs() }

// end drops what the run made, and does what comes when the store is closed, if it was defined.
func (c *checking) end(ctx context.Context, defined bool) {
	if ctx.Err() != nil {
		c.stall = min(c.stall, dropsAtEnd)
	}
	c.goesOn = defined && c.more(ctx) && c.opts.opensAgain() && tested.LeavesTables(c.Facts)
	left := c.finish(context.WithoutCancel(ctx))
	if defined {
		c.closing(ctx)
		c.killed(ctx)
	}
	if left == nil { // else Clean is to find what there is
		left = c.unmark(context.WithoutCancel(ctx))
	}
	if left != nil {
		c.report.Problems = append(c.report.Problems, left.Error())
	}
	if c.hangs() {
		c.report.Problems = append(c.report.Problems, fmt.Sprintf("%d rules never returned, and no more were begun", c.Hung.Load()))
	}
}

// rules runs all rules but those that close the store, some at once.
func (c *checking) rules(ctx context.Context) {
	var list []rule.Rule
	for _, r := range rules() {
		if !c.opts.wants(r.ID()) {
			continue
		}
		c.report.group(r.Group)
		if r.Group != rule.Close {
			list = append(list, r)
		}
	}
	next := make(chan *rule.Rule)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for r := range next {
				if c.more(ctx) {
					c.note(ctx, r, c.run(ctx, r), len(list))
				}
			}
		})
	}
	for i := range list {
		next <- &list[i]
	}
	close(next)
	wg.Wait()
}

// closing runs the rules that close the store, one after the other.
func (c *checking) closing(ctx context.Context) {
	for _, r := range rules() {
		if r.Group == rule.Close && c.opts.wants(r.ID()) && c.more(ctx) {
			c.note(ctx, &r, c.run(ctx, &r), 0)
		}
	}
}

// note counts the result of a rule. One that the end of the run broke off has none.
func (c *checking) note(ctx context.Context, r *rule.Rule, err error, total int) {
	c.counted.Lock()
	defer c.counted.Unlock()
	if err != nil && ctx.Err() != nil {
		return
	}
	g := c.report.group(r.Group)
	missing, ok := errors.AsType[*finding.ErrNotSupported](err)
	switch {
	case err == nil:
		g.Passed++
		g.Verified = append(g.Verified, r.Sentence)
	case ok:
		g.Missing = append(g.Missing, Unsupported{r.ID(), r.Sentence, missing.Reason})
	default:
		g.Failed = append(g.Failed, c.failure(r.ID(), r.Sentence, err))
	}
	c.done++
	c.opts.Progress("rules", c.done, max(total, c.done))
}

func (c *checking) failure(id, sentence string, err error) Failure {
	m := finding.AsMismatch(err)
	return Failure{Rule: id, Sentence: sentence, Want: m.Want, Got: m.Got, Again: c.opts.again(id)}
}

// random does the random operations.
func (c *checking) random(ctx context.Context) {
	if c.opts.Ops < 0 || !c.opts.wants(randomGroup) || !c.more(ctx) {
		return
	}
	c.report.group(randomGroup)
	err := c.watchedCompare(ctx, c.opts)
	c.noteRun(ctx, randomGroup, "The store and the reference answer the same operations alike.",
		fmt.Sprintf("%s against the reference, seed %d", thousandsOf(c.opts.Ops), c.opts.Seed), err)
}

// histories makes the concurrent histories.
func (c *checking) histories(ctx context.Context) {
	if c.opts.Histories < 0 || !c.opts.wants(historyGroup) || !c.more(ctx) {
		return
	}
	err := c.watchedRecord(ctx, c.opts)
	c.noteRun(ctx, historyGroup, "What clients see at once is explained by some order of their calls, and an index neither misses nor invents.",
		fmt.Sprintf("%d, linearizable", c.opts.Histories), err)
}

const killSentence = "What was acknowledged is there after the process was killed to which it was acknowledged."

// killed kills a writer.
func (c *checking) killed(ctx context.Context) {
	if !c.opts.wants(killGroup) || !c.more(ctx) {
		return
	}
	c.observer.begins(killGroup)
	defer c.observer.ends(killGroup)
	note, err := c.suite.killed(ctx, c.opts.Child)
	c.noteRun(ctx, killGroup, killSentence, note, err)
}

// noteRun counts the result of what is no rule.
func (c *checking) noteRun(ctx context.Context, group, sentence, note string, err error) {
	g := c.report.group(group)
	if err != nil && ctx.Err() != nil {
		g.Note = "broken off"
		return
	}
	if err != nil {
		g.Failed = append(g.Failed, c.failure(group, sentence, err))
		return
	}
	g.Note = note
}

// thousandsOf writes a number with commas.
func thousandsOf(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
