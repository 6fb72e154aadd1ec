package loadtest

import "time"

// A backlog is how a candidate kept up with the clock in a round. An operation waits from the
// moment at which the clock releases it until a slot begins it.
type backlog struct {
	half  int // operations that waited half-way through the round
	end   int // operations that waited when the last one was due
	busy  int // slots that had an operation when the last one was due
	slots int
	late  int // operations that are due within the clock's greatest lag: so many may wait because of it
}

// leastBacklog is how many operations that wait tell something. Of a short round one is
// a hundredth, and may just have become due.
const leastBacklog = 5

// backlog returns how the last round of n operations went.
func (b *bench) backlog() backlog {
	last := int64(b.instant(len(b.samples) - 1))
	g := backlog{slots: b.slots}
	g.half, _ = b.waiting(last / 2)
	var open int
	g.end, open = b.waiting(last)
	g.busy = min(open, b.slots)
	worst := int64(0)
	for i := range b.samples {
		worst = max(worst, b.samples[i].lag)
	}
	g.late = int(worst * int64(b.rate) / int64(time.Second))
	return g
}

// waiting returns how many operations had been released at a time and not begun, and how many
// had been released and not ended. What begins within a millisecond does not wait.
func (b *bench) waiting(at int64) (waiting, open int) {
	for i := range b.samples {
		s := &b.samples[i]
		released := int64(b.instant(i)) + s.lag
		if released > at {
			continue
		}
		if released+s.wait > at+int64(time.Millisecond) {
			waiting++
		}
		if released+s.wait+s.service > at {
			open++
		}
	}
	return waiting, open
}

func (r *round) least() int { return max(leastBacklog, (r.ops+99)/100) }

// behind reports whether the candidate had not kept up at the end of the round: operations
// waited, or were cut off.
func (r *round) behind() bool { return max(r.backlog.end, r.unfinished) >= r.least() }

// late reports whether the candidate was behind and the clock may be the cause.
func (r *round) late() bool {
	return r.behind() && max(r.backlog.end, r.unfinished)-r.backlog.late < r.least()
}

// saturated reports whether the candidate was behind by its own fault: operations waited
// because all slots were busy, and more and more of them. A stall is another matter.
func (r *round) saturated() bool {
	g := r.backlog
	return r.behind() && !r.late() && !r.stalled() && g.busy >= g.slots && g.end > g.half
}

// roundsThat returns how many rounds of the candidate are so.
func (c *candidate) roundsThat(are func(*round) bool) int {
	n := 0
	for _, r := range c.rounds {
		if are(r) {
			n++
		}
	}
	return n
}

// most reports whether at least half of the candidate's rounds are so.
func (c *candidate) most(are func(*round) bool) bool {
	n := c.roundsThat(are)
	return n > 0 && 2*n >= len(c.rounds)
}

// hopeless reports whether more rounds of the candidate would only take time.
func (c *candidate) hopeless() bool {
	return len(c.rounds) >= leastRounds && c.roundsThat((*round).saturated) == len(c.rounds)
}
