package wire

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
)

// A Counted command tells how often it was sent. The client asks for the arguments each time that it writes them:
// again after a connection broke, or to another server of a cluster.
type Counted struct {
	goredis.Cmder
	writes atomic.Int64
}

// Args counts one more sending.
func (c *Counted) Args() []any {
	c.writes.Add(1)
	return c.Cmder.Args()
}

// Times returns how often a command was sent that ended with err. One that is with the
// server, or was about to be when nobody waited any more, counts as sent.
func (c *Counted) Times(err error) int {
	n := int(c.writes.Load())
	if n == 0 && errors.Is(err, ErrTaken) {
		return 1
	}
	return n
}

func (c *Counted) plain() goredis.Cmder { return c.Cmder }

// plain returns the command itself of one that is counted.
func plain(cmd goredis.Cmder) goredis.Cmder {
	if c, ok := cmd.(interface{ plain() goredis.Cmder }); ok {
		return c.plain()
	}
	return cmd
}

// A Commit is a counted command that go-redis must not send twice, whatever the client's
// MaxRetries is, and that knows whether any of it can have left.
type Commit struct {
	Counted
	Script *Script
	Sent   bool
}

// NewCommit returns the call of a script with words, which begin with evalsha.
func NewCommit(ctx context.Context, sc *Script, words []any) *Commit {
	return &Commit{Counted: Counted{Cmder: goredis.NewRawCmd(ctx, words...)}, Script: sc}
}

// Reply returns what the server answered, nothing if it did not.
func (c *Commit) Reply() Reply { return ReplyOf(c.Cmder.(*goredis.RawCmd)) }

// NoRetry makes go-redis give up at the first error.
func (c *Commit) NoRetry() bool { return true }

// Args is called by go-redis when it has a connection and begins to write to it.
// A hook of the client that looks at the arguments before makes an outcome unknown
// that might be known, never the reverse.
func (c *Commit) Args() []any {
	c.Sent = true
	return c.Counted.Args()
}

// A Script is one of the texts of a commit, named by its hash.
type Script struct {
	Text, Hash string
	Inserts    bool // its call has no other trip
}

// ScriptLoads is how often a commit gives the server a script that it lacks: more
// than one flush of its scripts at that moment is no accident.
const ScriptLoads = 3

// NewScript returns the script of a text, after those that it calls.
func NewScript(texts ...string) *Script {
	text := strings.Join(texts, "\n") + "\n"
	hash := sha1.Sum([]byte(text)) // it is by this hash that the server knows a script
	return &Script{Text: text, Hash: hex.EncodeToString(hash[:])}
}

// Watched puts counted commands into a list in the place of its own.
func Watched(list []goredis.Cmder) []Counted {
	seen := make([]Counted, len(list))
	for i := range list {
		seen[i].Cmder = list[i]
		list[i] = &seen[i]
	}
	return seen
}

// Unanswered returns err unless it says that the answer is nothing.
func Unanswered(err error) error {
	if errors.Is(err, goredis.Nil) {
		return nil
	}
	return err
}

// TimesAll returns how often the commands of one pipeline were sent. The client sends a pipeline again as a
// whole; in a cluster what was in the wrong place is sent again one by one.
func TimesAll(seen []Counted, err error, inCluster bool) (most, all int) {
	for i := range seen {
		n := seen[i].Times(err)
		if inCluster && n > 0 {
			n-- // the client looks once for the key, by which it finds the server
		}
		most, all = max(most, n), all+n
	}
	if inCluster && most > 0 {
		most = 1 + max(0, all-len(seen))
	}
	return most, all
}
