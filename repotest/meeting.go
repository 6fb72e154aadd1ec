package repotest

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A meeting is a call with what the rules make of it.
type meeting struct {
	store   *Store
	event   Event
	begun   time.Time
	delay   time.Duration
	after   int
	release chan struct{} // for Blocked
}

// meet counts a call and finds its fault: that of the first rule that applies.
// Delays of all rules that apply add up.
func (s *Store) meet(ctx context.Context, c Call, tables []*driver.Table) *meeting {
	m := &meeting{store: s, begun: time.Now()}
	m.event.Call, m.event.Operation = c, driver.OperationOf(ctx)
	for _, t := range tables {
		if t != nil {
			m.event.Tables = append(m.event.Tables, t.Name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c]++
	m.event.Number, m.release = s.calls[c], s.release
	for i := range s.rules {
		r := &s.rules[i]
		if !r.names(c, m.event.Operation, tables) {
			continue
		}
		r.seen++
		if !s.applies(r) {
			continue
		}
		m.delay += r.Delay
		if r.Jitter > 0 {
			m.delay += time.Duration(s.random.Int64N(int64(r.Jitter) + 1))
		}
		if m.event.Fault == None && r.Fault != None {
			m.event.Fault, m.event.Rule, m.after = r.Fault, r.text, r.After
		}
	}
	return m
}

// applies says whether a rule means the call that it has just seen.
func (s *Store) applies(r *counted) bool {
	switch {
	case r.Nth > 0:
		return r.seen == r.Nth
	case r.Every > 0:
		return r.seen%r.Every == 0
	case r.Share > 0:
		return s.random.Float64() < r.Share
	}
	return true
}

// wait lets the delay pass and, if the call is blocked, waits for its release.
func (m *meeting) wait(ctx context.Context) error {
	if m.delay > 0 {
		timer := time.NewTimer(m.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return m.ended(ctx)
		}
	}
	if m.event.Fault == Blocked {
		select {
		case <-m.release:
		case <-ctx.Done():
			return m.ended(ctx)
		}
	}
	return nil
}

func (m *meeting) ended(ctx context.Context) error {
	return fmt.Errorf("repotest: %s was not sent: %w: %w", m.event.Call, driver.ErrTimeout, ctx.Err())
}

// refuse returns the error of a call that is not done.
func (m *meeting) refuse() error {
	switch m.event.Fault {
	case Timeout:
		return fmt.Errorf("%s: %s: %w: %w", m.event.Rule, m.event.Call, driver.ErrTimeout, context.DeadlineExceeded)
	case Unavailable:
		return fmt.Errorf("%s: %s: %w", m.event.Rule, m.event.Call, driver.ErrUnavailable)
	}
	return nil
}

// end tells the observer, and does the late commits whose time has come.
func (m *meeting) end(refused bool, err error) {
	m.store.countDown()
	m.event.Refused, m.event.Err, m.event.Took = refused, err, time.Since(m.begun)
	m.store.observe(m.event)
}
