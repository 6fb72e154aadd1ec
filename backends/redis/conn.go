package redis

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
)

// A conn sends commands to the servers and counts them, and says what their errors mean.
type conn struct {
	client goredis.UniversalClient // the one given, or a router or waiter around it
	quorum wire.Quorum
	dialer *address.Dialer // of the client, nil if Open did not make it
	own    bool            // the client is closed with the store
	addr   string          // for people, without anything secret
	db     int
	prefix string // of the names of keys
	line   wire.Line
	maps   bool // the client speaks version 3 of the protocol, in which a hash comes as a map
}

// close waits for what is to be sent, and closes the client if Open made it.
func (c *conn) close() error {
	c.line.Close()
	if !c.own {
		return nil
	}
	if err := c.client.Close(); err != nil {
		return fmt.Errorf("redis: close: %s: %w: %w", c.addr, driver.ErrUnavailable, err)
	}
	return nil
}

// ask sends a command that may be sent again, and returns the answer.
func (c *conn) ask(ctx context.Context, doing string, args ...any) (wire.Reply, error) {
	return c.askKey(ctx, doing, "", args...)
}

// askKey is ask for a command whose first argument is a key of a type.
func (c *conn) askKey(ctx context.Context, doing, form string, args ...any) (wire.Reply, error) {
	cmd := goredis.NewRawCmd(ctx, args...)
	if err := c.read(ctx, cmd); err != nil {
		return wire.Reply{}, c.failed(ctx, doing, err) // a shared one may still be on its way
	}
	return c.reply(ctx, doing, form, cmd)
}

// reply returns the answer to a command. If its key has another type than form, that is the error.
func (c *conn) reply(ctx context.Context, doing, form string, cmd *goredis.RawCmd) (wire.Reply, error) {
	r := wire.ReplyOf(cmd)
	err := r.Refused()
	switch {
	case err == nil:
		return r, nil
	case form == "":
		return r, c.failed(ctx, doing, err)
	}
	key, ok := cmd.Args()[1].(string)
	if !ok {
		key = *cmd.Args()[1].(*string)
	}
	return r, c.refusedKeys(ctx, doing, err, []string{key}, []string{form})
}

// askEach sends commands that may be sent again in one pipeline, and calls do with the answers
// in their order. Form is the type of their keys, if that matters.
func (c *conn) askEach(ctx context.Context, doing, form string, cmds []*goredis.RawCmd, do func(i int, r *wire.Reply) error) error {
	if err := c.askAll(ctx, doing, cmds); err != nil {
		return err
	}
	for i, cmd := range cmds {
		r, err := c.reply(ctx, doing, form, cmd)
		if err == nil {
			err = do(i, &r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read sends a command that may be sent again.
func (c *conn) read(ctx context.Context, cmd goredis.Cmder) error {
	t := driver.TallyOf(ctx)
	if t == nil {
		return c.readUncounted(ctx, cmd)
	}
	counted, sent := &wire.Counted{Cmder: cmd}, t.Begin(ctx, 1)
	err := c.readUncounted(ctx, counted)
	n := counted.Times(err)
	sent.End(n, n, wire.Unanswered(err))
	return err
}

func (c *conn) readUncounted(ctx context.Context, cmd goredis.Cmder) error {
	shared, err := c.line.Do(ctx, c.client, cmd, wire.ShareFrom)
	if wire.Broke(ctx, shared, err) {
		cmd.SetErr(nil)
		err = c.client.Process(ctx, cmd)
	}
	return err
}

// askAll sends commands that may be sent again in one pipeline. Each has its
// answer; one of them that is an error is not looked for.
func (c *conn) askAll(ctx context.Context, doing string, cmds []*goredis.RawCmd) error {
	return c.failed(ctx, doing, sendAll(ctx, c, cmds))
}

// sendAll is askAll for commands of any type. The error is that of the first that has
// one, the server's answers among them.
func sendAll[C goredis.Cmder](ctx context.Context, c *conn, cmds []C) error {
	switch len(cmds) {
	case 0:
		return nil
	case 1:
		return c.read(ctx, cmds[0])
	}
	list := make([]goredis.Cmder, len(cmds))
	for i, cmd := range cmds {
		list[i] = cmd
	}
	t := driver.TallyOf(ctx)
	if t == nil {
		return c.sendList(ctx, list)
	}
	seen, sent := wire.Watched(list), t.Begin(ctx, len(list))
	err := c.sendList(ctx, list)
	depth, requests := wire.TimesAll(seen, err, c.inCluster())
	sent.End(depth, requests, wire.Unanswered(err))
	return err
}

// sendList sends several commands in one pipeline.
func (c *conn) sendList(ctx context.Context, list []goredis.Cmder) error {
	shared, err := c.line.DoAll(ctx, list)
	if shared && !wire.Broke(ctx, shared, err) {
		return err
	}
	for _, cmd := range list {
		cmd.SetErr(nil)
	}
	pipe := c.client.Pipeline()
	if err := pipe.BatchProcess(ctx, list...); err != nil {
		return err
	}
	_, err = pipe.Exec(ctx)
	return err
}

// eval runs a script. Nothing was done if the error is not ErrUnknownOutcome.
func (c *conn) eval(ctx context.Context, sc *wire.Script, keys []string, args []string) (wire.Reply, error) {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, "evalsha", sc.Hash, len(keys))
	for _, list := range [...][]string{keys, args} {
		for i := range list {
			words = append(words, &list[i]) // a pointer needs no copy of its own
		}
	}
	for loads := 0; ; loads++ {
		cmd := wire.NewCommit(ctx, sc, words)
		sent := driver.TallyOf(ctx).Begin(ctx, 1)
		err := c.once(ctx, cmd, args)
		n := cmd.Times(err)
		sent.End(n, n, err)
		if err != nil {
			return wire.Reply{}, c.unfinished(ctx, err, errors.Is(err, wire.ErrTaken) || cmd.Sent)
		}
		r := cmd.Reply()
		if err = r.Refused(); err == nil {
			return r, nil
		}
		if wire.CodeOf(err) != "NOSCRIPT" || loads == wire.ScriptLoads {
			return wire.Reply{}, c.failed(ctx, "commit", err)
		}
		if err := c.load(ctx, "commit", sc); err != nil {
			return wire.Reply{}, err
		}
	}
}

// load gives the server a script.
func (c *conn) load(ctx context.Context, doing string, sc *wire.Script) error {
	_, err := c.ask(ctx, doing+": load a script", "script", "load", sc.Text)
	return err
}

// once sends a commit with its arguments, by itself if they are large.
func (c *conn) once(ctx context.Context, cmd *wire.Commit, args []string) error {
	size := 0
	for i := range args {
		size += len(args[i])
	}
	if size > wire.ShareToBytes {
		return c.client.Process(ctx, cmd)
	}
	from := c.line.Change
	if cmd.Script.Inserts {
		from = wire.ShareFrom
	}
	_, err := c.line.Do(ctx, c.client, cmd, from)
	return err
}
