package wire

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// A Quorum is how many replicas must have a commit before it is acknowledged, and
// how long it waits for them.
type Quorum struct {
	Replicas int
	Wait     time.Duration
}

// A Waiter is a client of one server, whose commits wait for replicas.
type Waiter struct {
	*goredis.Client
	Quorum Quorum
}

// Process sends a command, and a commit together with the wait for its replicas.
func (w *Waiter) Process(ctx context.Context, cmd goredis.Cmder) error {
	return w.Quorum.process(ctx, w.Client, cmd, false)
}

// process sends a command to a server. All that belongs to it goes over one
// connection: ASKING is about the next command of that, and WAIT about the last.
func (q *Quorum) process(ctx context.Context, node *goredis.Client, cmd goredis.Cmder, asking bool) error {
	write, commits := cmd.(*Commit)
	waits := commits && q.Replicas > 0
	if !waits && !asking {
		return node.Process(ctx, cmd)
	}
	wait := q.Wait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, 3*time.Until(deadline)/4) // of the time that the call has left
	}
	acks := goredis.NewIntCmd(ctx, "wait", q.Replicas, max(1, wait.Milliseconds())) // 0 is for ever
	pipe := node.Pipeline()
	if asking {
		driver.TallyOf(ctx).Beside(1)
		_ = pipe.Process(ctx, goredis.NewStatusCmd(ctx, "asking")) // only puts it in
	}
	_ = pipe.Process(ctx, cmd)
	if waits {
		driver.TallyOf(ctx).Beside(1)
		_ = pipe.Process(ctx, acks)
	}
	_, err := pipe.Exec(ctx)
	if !waits || write.Reply().Rest == "" {
		return err
	}
	return q.enough(write, acks)
}

// enough says whether a commit that was answered has its replicas. What was refused
// needs none. Errors of WAIT are only told: as such they would say that nothing was done.
func (q *Quorum) enough(write *Commit, acks *goredis.IntCmd) error {
	r := write.Reply()
	if r.Refused() != nil || r.List() > 0 {
		return nil
	}
	switch n, err := acks.Result(); {
	case err != nil:
		return fmt.Errorf("done, but it is not known whether %d replicas have it: %s", q.Replicas, err.Error())
	case n < int64(q.Replicas):
		return fmt.Errorf("done, but only %d of %d replicas have it in time", n, q.Replicas)
	}
	return nil
}
