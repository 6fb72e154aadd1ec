package redis

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// ask sends a command that may be sent again, and returns the answer.
func (s *store) ask(ctx context.Context, doing string, args ...any) (wire.Reply, error) {
	cmd := goredis.NewRawCmd(ctx, args...)
	if err := s.read(ctx, cmd); err != nil {
		return wire.Reply{}, s.failed(ctx, doing, err) // a shared one may still be on its way
	}
	r := wire.ReplyOf(cmd)
	return r, s.failed(ctx, doing, r.Refused())
}

// read sends a command that may be sent again.
func (s *store) read(ctx context.Context, cmd goredis.Cmder) error {
	t := driver.TallyOf(ctx)
	if t == nil {
		return s.readUncounted(ctx, cmd)
	}
	c, sent := &wire.Counted{Cmder: cmd}, t.Begin(ctx, 1)
	err := s.readUncounted(ctx, c)
	n := c.Times(err)
	sent.End(n, n, wire.Unanswered(err))
	return err
}

func (s *store) readUncounted(ctx context.Context, cmd goredis.Cmder) error {
	shared, err := s.line.Do(ctx, s.client, cmd, wire.ShareFrom)
	if wire.Broke(ctx, shared, err) {
		cmd.SetErr(nil)
		err = s.client.Process(ctx, cmd)
	}
	return err
}

// askAll sends commands that may be sent again in one pipeline. Each has its
// answer; one of them that is an error is not looked for.
func (s *store) askAll(ctx context.Context, doing string, cmds []*goredis.RawCmd) error {
	return s.failed(ctx, doing, sendAll(ctx, s, cmds))
}

// sendAll is askAll for commands of any type. The error is that of the first that has
// one, the server's answers among them.
func sendAll[C goredis.Cmder](ctx context.Context, s *store, cmds []C) error {
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
	seen, sent := wire.Watched(list), t.Begin(ctx, len(list))
	err := sendList(ctx, s, list)
	depth, requests := wire.TimesAll(seen, err, s.inCluster())
	sent.End(depth, requests, wire.Unanswered(err))
	return err
}

// sendList sends several commands in one pipeline.
func sendList(ctx context.Context, s *store, list []goredis.Cmder) error {
	shared, err := s.line.DoAll(ctx, list)
	if shared && !wire.Broke(ctx, shared, err) {
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

// eval runs a script. Nothing was done if the error is not ErrUnknownOutcome.
func (s *store) eval(ctx context.Context, sc *wire.Script, keys []string, args []string) (wire.Reply, error) {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, "evalsha", sc.Hash, len(keys))
	for i := range keys {
		words = append(words, keys[i])
	}
	for i := range args {
		words = append(words, &args[i]) // a pointer needs no copy of its own
	}
	for loads := 0; ; loads++ {
		cmd := &wire.Commit{RawCmd: goredis.NewRawCmd(ctx, words...), Script: sc}
		sent := driver.TallyOf(ctx).Begin(ctx, 1)
		err := s.once(ctx, cmd, args)
		n := cmd.Times(err)
		sent.End(n, n, err)
		if err != nil {
			return wire.Reply{}, s.unfinished(ctx, err, errors.Is(err, wire.ErrTaken) || cmd.Sent)
		}
		r := wire.ReplyOf(cmd.RawCmd)
		if err = r.Refused(); err == nil {
			return r, nil
		}
		if wire.CodeOf(err) != "NOSCRIPT" || loads == wire.ScriptLoads {
			return wire.Reply{}, s.failed(ctx, "commit", err)
		}
		if _, err := s.ask(ctx, "commit: load a script", "script", "load", sc.Text); err != nil {
			return wire.Reply{}, err
		}
	}
}

// once sends a commit with its arguments, by itself if they are large.
func (s *store) once(ctx context.Context, cmd *wire.Commit, args []string) error {
	size := 0
	for i := range args {
		size += len(args[i])
	}
	if size > wire.ShareToBytes {
		return s.client.Process(ctx, cmd)
	}
	from := s.line.Change
	if cmd.Script.Inserts {
		from = wire.ShareFrom
	}
	_, err := s.line.Do(ctx, s.client, cmd, from)
	return err
}
