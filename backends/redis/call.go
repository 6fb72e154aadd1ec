package redis

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// A writeCmd is a command that go-redis must not send twice, whatever the client's
// MaxRetries is, and that knows whether any of it can have left.
type writeCmd struct {
	*goredis.RawCmd
	script *script
	sent   bool
	writes int // how often it was written to a connection
}

// NoRetry makes go-redis give up at the first error.
func (c *writeCmd) NoRetry() bool { return true }

// Args is called by go-redis when it has a connection and begins to write to it.
// A hook of the client that looks at the arguments before makes an outcome unknown
// that might be known, never the reverse.
func (c *writeCmd) Args() []any {
	c.sent = true
	c.writes++
	return c.RawCmd.Args()
}

// ask sends a command that may be sent again, and returns the answer.
func (s *Store) ask(ctx context.Context, doing string, args ...any) (reply, error) {
	cmd := goredis.NewRawCmd(ctx, args...)
	if err := s.read(ctx, cmd); err != nil {
		return reply{}, s.failed(ctx, doing, err) // a shared one may still be on its way
	}
	r := replyOf(cmd)
	return r, s.failed(ctx, doing, r.refused())
}

// read sends a command that may be sent again.
func (s *Store) read(ctx context.Context, cmd goredis.Cmder) error {
	t := driver.TallyOf(ctx)
	if t == nil {
		return s.readUncounted(ctx, cmd)
	}
	c, sent := &counted{Cmder: cmd}, t.Begin(ctx, 1)
	err := s.readUncounted(ctx, c)
	n := c.times(err)
	sent.End(n, n, unanswered(err))
	return err
}

func (s *Store) readUncounted(ctx context.Context, cmd goredis.Cmder) error {
	shared, err := s.line.do(ctx, s.client, cmd, shareFrom)
	if broke(ctx, shared, err) {
		cmd.SetErr(nil)
		err = s.client.Process(ctx, cmd)
	}
	return err
}

// askAll sends commands that may be sent again in one pipeline. Each has its
// answer; one of them that is an error is not looked for.
func (s *Store) askAll(ctx context.Context, doing string, cmds []*goredis.RawCmd) error {
	return s.failed(ctx, doing, sendAll(ctx, s, cmds))
}

// sendAll is askAll for commands of any type. The error is that of the first that has
// one, the server's answers among them.
func sendAll[C goredis.Cmder](ctx context.Context, s *Store, cmds []C) error {
	switch len(cmds) {
	case 0:
		return nil
	case 1:
		return s.read(ctx, cmds[0])
	}
	list := make([]goredis.Cmder, len(cmds))
	for i, cmd := range cmds {
		list[i] = cmd
	}
	t := driver.TallyOf(ctx)
	if t == nil {
		return sendList(ctx, s, list)
	}
	seen, sent := watched(list), t.Begin(ctx, len(list))
	err := sendList(ctx, s, list)
	depth, requests := s.timesAll(seen, err)
	sent.End(depth, requests, unanswered(err))
	return err
}

// sendList sends several commands in one pipeline.
func sendList(ctx context.Context, s *Store, list []goredis.Cmder) error {
	shared, err := s.line.doAll(ctx, list)
	if shared && !broke(ctx, shared, err) {
		return err
	}
	for _, cmd := range list {
		cmd.SetErr(nil)
	}
	pipe := s.client.Pipeline()
	if err := pipe.BatchProcess(ctx, list...); err != nil {
		return err
	}
	_, err = pipe.Exec(ctx)
	return err
}

// A script is one of the texts of a commit, named by its hash.
type script struct {
	text, hash string
	inserts    bool // its call has no other trip
}

// scriptLoads is how often a commit gives the server a script that it lacks: more
// than one flush of its scripts at that moment is no accident.
const scriptLoads = 3

// eval runs a script. Nothing was done if the error is not ErrUnknownOutcome.
func (s *Store) eval(ctx context.Context, sc *script, keys []string, args []string) (reply, error) {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, "evalsha", sc.hash, len(keys))
	for i := range keys {
		words = append(words, keys[i])
	}
	for i := range args {
		words = append(words, &args[i]) // a pointer needs no copy of its own
	}
	for loads := 0; ; loads++ {
		cmd := &writeCmd{RawCmd: goredis.NewRawCmd(ctx, words...), script: sc}
		sent := driver.TallyOf(ctx).Begin(ctx, 1)
		err := s.once(ctx, cmd, args)
		n := cmd.times(err)
		sent.End(n, n, err)
		if err != nil {
			return reply{}, s.unfinished(ctx, err, errors.Is(err, errTaken) || cmd.sent)
		}
		r := replyOf(cmd.RawCmd)
		if err = r.refused(); err == nil {
			return r, nil
		}
		if codeOf(err) != "NOSCRIPT" || loads == scriptLoads {
			return reply{}, s.failed(ctx, "commit", err)
		}
		if _, err := s.ask(ctx, "commit: load a script", "script", "load", sc.text); err != nil {
			return reply{}, err
		}
	}
}

// once sends a commit with its arguments, by itself if they are large.
func (s *Store) once(ctx context.Context, cmd *writeCmd, args []string) error {
	size := 0
	for i := range args {
		size += len(args[i])
	}
	if size > shareToBytes {
		return s.client.Process(ctx, cmd)
	}
	from := s.line.change
	if cmd.script.inserts {
		from = shareFrom
	}
	_, err := s.line.do(ctx, s.client, cmd, from)
	return err
}
