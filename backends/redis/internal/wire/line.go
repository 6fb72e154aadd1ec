package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// How calls share pipelines.
const (
	ShareFrom    = 8   // from so many calls under way on they share pipelines
	changesFrom  = 32  // and changes, which came to wait a second time; sooner where the client has fewer connections
	pipelines    = 4   // at once: some are made while others are answered
	mostShared   = 256 // commands in one
	shareAtMost  = 32  // commands of a call that shares one: those of a larger page would hold up the others
	ShareToBytes = 16 << 10
	keepSender   = time.Second // how long a goroutine waits for more to send
)

// A Line sends the commands of concurrent calls to the server together: one
// write and one read for many. A call has it to itself until shareFrom are under
// way, so that a lone one pays nothing.
//
// A shared command is sent once, whatever MaxRetries of the client is; what only
// reads is then sent again by itself. A call whose context ends does not wait for
// the others: what it has sent may be done all the same.
type Line struct {
	client *goredis.Client // nil: nothing is shared
	Change int64           // from so many calls on a change shares one
	calls  atomic.Int64    // under way
	busy   atomic.Int64    // senders at work, changed with mu held
	wake   chan struct{}   // of pipelines: one for each idle sender that is to work
	stop   chan struct{}   // closed when no call can come any more
	ended  sync.WaitGroup  // of senders

	mu      sync.Mutex
	waiting []*parcel
	idle    int // senders that wait to be woken
}

// Init makes a line of a client. Without it nothing is shared.
func (l *Line) Init(client *goredis.Client) {
	l.client = client
	l.Change = int64(min(max(client.Options().PoolSize, ShareFrom), changesFrom))
	l.wake, l.stop = make(chan struct{}, pipelines), make(chan struct{})
}

// Close ends the senders when they have sent what waits. No call may follow.
func (l *Line) Close() {
	if l.client != nil {
		close(l.stop)
		l.ended.Wait()
	}
}

// A parcel is the commands of one call on their way.
type parcel struct {
	one   [1]goredis.Cmder
	cmds  []goredis.Cmder
	state atomic.Int32
	done  chan struct{} // of 1: they are answered, or err says why not
	err   error
}

// The states of a parcel.
const (
	queued int32 = iota
	taken        // may be with the server
	left         // nobody waits for it, and it was not sent
)

var parcels = sync.Pool{New: func() any { return &parcel{done: make(chan struct{}, 1)} }}

// ErrTaken is why a command has no answer whose call did not wait for it.
var ErrTaken = errors.New("the call ended while the command was with the server")

// errHook is how a command ended that a hook of the client broke off.
var errHook = errors.New("a hook of the client panicked")

// Do sends one command, together with others if so many calls are under way.
func (l *Line) Do(ctx context.Context, client goredis.UniversalClient, cmd goredis.Cmder, from int64) (shared bool, err error) {
	defer l.calls.Add(-1)
	if !l.shares(l.calls.Add(1), from) {
		return false, client.Process(ctx, cmd)
	}
	p := parcels.Get().(*parcel)
	p.one[0] = cmd
	p.cmds = p.one[:]
	return true, l.carry(ctx, p)
}

// DoAll sends commands that only read together with others, or leaves that to the
// caller.
func (l *Line) DoAll(ctx context.Context, cmds []goredis.Cmder) (shared bool, err error) {
	defer l.calls.Add(-1)
	if !l.shares(l.calls.Add(1), ShareFrom) || len(cmds) > shareAtMost {
		return false, nil
	}
	p := parcels.Get().(*parcel)
	p.cmds = cmds
	return true, l.carry(ctx, p)
}

func (l *Line) shares(calls, from int64) bool {
	return l.client != nil && (calls >= from || from == ShareFrom && l.busy.Load() > 0)
}

// Broke says whether a shared pipeline ended without an answer for a call that
// still wants one.
func Broke(ctx context.Context, shared bool, err error) bool {
	return shared && err != nil && ctx.Err() == nil && CodeOf(err) == ""
}

// carry waits until p is answered or ctx ends.
func (l *Line) carry(ctx context.Context, p *parcel) error {
	l.enqueue(p)
	select {
	case <-p.done:
		err := p.err
		p.one[0], p.cmds, p.err = nil, nil, nil
		p.state.Store(queued)
		parcels.Put(p)
		return err
	case <-ctx.Done():
		if p.state.CompareAndSwap(queued, left) {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", ErrTaken, ctx.Err())
	}
}

func (l *Line) enqueue(p *parcel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, p)
	switch {
	case l.busy.Load() == pipelines:
	case l.idle > 0:
		l.idle--
		l.busy.Add(1)
		l.wake <- struct{}{}
	default:
		l.busy.Add(1)
		l.ended.Add(1)
		go l.run()
	}
}

// run sends pipelines. It stays for a while when nothing waits: between two bursts
// of calls there is always such a moment.
func (l *Line) run() {
	defer l.ended.Done()
	batch := make([]*parcel, 0, mostShared)
	for {
		runtime.Gosched() // those who were just answered may have more
		if batch = l.take(batch[:0]); len(batch) > 0 {
			l.send(batch)
			clear(batch)
		} else if !l.rest() {
			return
		}
	}
}

// rest waits to be woken, and says whether it was.
func (l *Line) rest() bool {
	t := time.NewTimer(keepSender)
	defer t.Stop()
	select {
	case <-l.wake:
		return true
	case <-l.stop:
	case <-t.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == 0 { // somebody counts on it
		<-l.wake
		return true
	}
	l.idle--
	return false
}

// take appends what waits, as much as fits in a pipeline. If nothing does, the
// sender is idle.
func (l *Line) take(batch []*parcel) []*parcel {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, used := 0, 0
	for _, p := range l.waiting {
		if used += len(p.cmds); used > mostShared && len(batch) > 0 {
			break
		}
		n++
		if p.state.CompareAndSwap(queued, taken) {
			batch = append(batch, p)
		}
	}
	rest := copy(l.waiting, l.waiting[n:])
	clear(l.waiting[rest:])
	l.waiting = l.waiting[:rest]
	if len(batch) == 0 {
		l.busy.Add(-1)
		l.idle++
	}
	return batch
}

// send sends a pipeline and tells those who wait.
func (l *Line) send(batch []*parcel) {
	pipe := l.client.Pipeline()
	for _, p := range batch {
		_ = pipe.BatchProcess(context.Background(), p.cmds...) // only puts them in
	}
	broken := exec(pipe)
	for _, p := range batch {
		p.err = broken
		for i := 0; i < len(p.cmds) && p.err == nil; i++ {
			p.err = p.cmds[i].Err()
		}
		p.done <- struct{}{}
	}
}

// exec waits as long as the client's time-outs let it: a pipeline is of many calls,
// and none of their contexts is that of all. Each command has its own error; broken
// is what came instead of answers.
func exec(pipe goredis.Pipeliner) (broken error) {
	defer func() {
		if v := recover(); v != nil {
			broken = fmt.Errorf("%w: %v", errHook, v)
		}
	}()
	_, _ = pipe.Exec(context.Background())
	return nil
}
