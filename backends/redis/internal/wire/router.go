package wire

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver/frame"
)

// A Router is a client of a cluster that sends a command to the server that has its
// key. It follows the answers of servers that have done nothing, because the key
// lies elsewhere or cannot be served at the moment, and sends a commit again after
// no other. go-redis does not see such answers in most of the commands that are used
// here, whose replies it does not read.
type Router struct {
	*goredis.ClusterClient
	Quorum   Quorum
	Patience time.Duration // for a cluster that cannot serve at the moment
	Creation *Script       // the one that no commit is

	nodes sync.Map // by address, as far as they were needed: *goredis.Client
}

// ReadTries is how often a command that only reads is sent where connections break.
const ReadTries = 4

// Process sends a command to the server that has its key. One without a key goes to
// any master.
func (r *Router) Process(ctx context.Context, cmd goredis.Cmder) error {
	t := trip{Router: r, cmd: cmd, begun: time.Now()}
	t.key = routingKey(plain(cmd).Args())
	t.write, _ = cmd.(*Commit)
	if t.key == "" {
		return r.ClusterClient.Process(ctx, cmd)
	}
	for {
		if again, err := t.step(ctx); !again {
			return err
		}
	}
}

// routingKey returns the first key of a command, "" if it has none.
func routingKey(args []any) string {
	name, _ := args[0].(string)
	at := 1
	switch name {
	case "evalsha":
		at = 3
	case "memory":
		at = 2
	case "info", "scan", "config", "script", "cluster":
		return ""
	}
	if at >= len(args) {
		return ""
	}
	switch key := args[at].(type) {
	case string:
		return key
	case *string:
		return *key
	}
	return ""
}

// A trip is a command on its way through a cluster.
type trip struct {
	*Router
	cmd   goredis.Cmder
	write *Commit // nil for a command that may be sent again
	key   string
	begun time.Time

	node   *goredis.Client // where to, nil for the one that has the key
	asking bool            // it has the key only for the time of a move
	tries  int
	loads  int
}

// step sends the command once and says whether it must go on.
func (t *trip) step(ctx context.Context) (again bool, err error) {
	t.tries++
	if t.node == nil {
		t.asking = false
		if t.node, err = t.MasterForKey(ctx, t.key); err != nil {
			return t.failed(ctx, err)
		}
	}
	err = t.Quorum.process(ctx, t.node, t.cmd, t.asking)
	switch refused := RefusalOf(t.cmd, err); {
	case refused != nil:
		return t.answered(ctx, refused)
	case err != nil:
		return t.failed(ctx, err)
	}
	return false, nil
}

// RefusalOf returns the error with which a server answered a command that ended with err,
// if it did. A raw one that ended with an error was not answered: what it holds is the
// answer to an earlier sending.
func RefusalOf(cmd goredis.Cmder, err error) error {
	raw, ok := plain(cmd).(*goredis.RawCmd)
	switch {
	case ok && err == nil:
		r := ReplyOf(raw)
		return r.Refused()
	case ok || CodeOf(err) == "":
		return nil
	}
	return err
}

// failed decides after an error that is no answer. The server may be gone for good,
// so the client is told to look who has the slots.
func (t *trip) failed(ctx context.Context, err error) (again bool, _ error) {
	t.ReloadState(ctx)
	closed := errors.Is(err, goredis.ErrClosed)
	if closed {
		t.nodes.Clear() // a server that left the cluster is closed by the client
	}
	mayRepeat := t.write == nil && !errors.Is(err, goredis.ErrPoolTimeout) || closed
	if !mayRepeat || t.tries >= ReadTries || CodeOf(err) != "" || t.pause(ctx) != nil {
		return false, err
	}
	t.node = nil
	return true, nil
}

// answered decides after the answer of a server that refused the command, and so did nothing.
func (t *trip) answered(ctx context.Context, refused error) (again bool, err error) {
	if t.write != nil {
		t.write.Sent = false
	}
	code := CodeOf(refused)
	switch code {
	case "MOVED", "ASK":
		text, _ := Answered(refused)
		t.asking = code == "ASK"
		if code == "MOVED" {
			t.ReloadState(ctx)
		}
		t.node = t.at(ctx, text[strings.LastIndexByte(text, ' ')+1:])
		if t.node != nil && t.tries < 8 {
			return true, nil
		}
	case "TRYAGAIN":
		t.node = nil
	case "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY":
		t.ReloadState(ctx)
		t.node = nil
	case "NOSCRIPT":
		return t.load(ctx)
	default:
		return false, nil
	}
	if time.Since(t.begun) > t.Patience {
		return false, nil // the answer stands
	}
	err = t.pause(ctx)
	return err == nil, err
}

// load gives the server that has the key the script that it lacks.
func (t *trip) load(ctx context.Context) (again bool, err error) {
	if t.loads++; t.loads > ScriptLoads {
		return false, nil
	}
	sc := t.Creation
	if t.write != nil {
		sc = t.write.Script
	}
	err = t.node.Process(ctx, goredis.NewRawCmd(ctx, "script", "load", sc.Text))
	return err == nil, err
}

// pause waits a little longer each time.
func (t *trip) pause(ctx context.Context) error {
	return cmp.Or(frame.Sleep(ctx, min(10*time.Millisecond<<min(t.tries, 10), 200*time.Millisecond)), frame.Over(ctx))
}

// at returns the client of the server at an address that another one has named, nil
// if it does not know it yet. Without a host it is that of the server that was asked.
func (t *trip) at(ctx context.Context, addr string) *goredis.Client {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		host, _, _ = net.SplitHostPort(t.node.Options().Addr)
		addr = net.JoinHostPort(host, port)
	}
	node, known := t.nodes.Load(addr)
	if !known {
		// An error here is one of asking who there is: then the client knows as much as before.
		_ = t.ForEachShard(ctx, func(_ context.Context, c *goredis.Client) error {
			t.nodes.Store(c.Options().Addr, c)
			return nil
		})
		node, _ = t.nodes.Load(addr)
	}
	client, _ := node.(*goredis.Client)
	return client
}

// Pipeline returns a pipeline whose commands only read, or may be done again.
func (r *Router) Pipeline() goredis.Pipeliner {
	return &routed{Pipeliner: r.ClusterClient.Pipeline(), router: r}
}

type routed struct {
	goredis.Pipeliner
	router *Router
	cmds   []goredis.Cmder
}

func (p *routed) BatchProcess(ctx context.Context, cmds ...goredis.Cmder) error {
	p.cmds = append(p.cmds, cmds...)
	return p.Pipeliner.BatchProcess(ctx, cmds...)
}

// Exec sends the commands to the servers that have their keys as far as the client
// knows, and those again, one by one, that were not done there.
func (p *routed) Exec(ctx context.Context) ([]goredis.Cmder, error) {
	if _, err := p.Pipeliner.Exec(ctx); err != nil {
		p.router.ReloadState(ctx)
		if frame.Over(ctx) != nil {
			return p.cmds, err
		}
	}
	for _, cmd := range p.cmds {
		if cmd.Err() == nil && !elsewhere(cmd) {
			continue
		}
		if err := p.router.Process(ctx, cmd); err != nil {
			return p.cmds, err
		}
	}
	return p.cmds, nil
}

// elsewhere reports whether a server answered that it could not do a command.
func elsewhere(cmd goredis.Cmder) bool {
	switch CodeOf(RefusalOf(cmd, cmd.Err())) {
	case "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN":
		return true
	}
	return false
}
