package redis

import (
	"errors"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
)

// A counted command tells how often it was sent. The client asks for the arguments
// each time that it writes them: again after a connection broke, or to another server of a
// cluster.
type counted struct {
	goredis.Cmder
	writes atomic.Int64
}

func (c *counted) Args() []any {
	c.writes.Add(1)
	return c.Cmder.Args()
}

// times returns how often a command was sent that ended with err. One that is with the
// server, or was about to be when nobody waited any more, counts as sent.
func (c *counted) times(err error) int {
	n := int(c.writes.Load())
	if n == 0 && errors.Is(err, errTaken) {
		return 1
	}
	return n
}

// watched puts counted commands into a list in the place of its own.
func watched(list []goredis.Cmder) []counted {
	seen := make([]counted, len(list))
	for i := range list {
		seen[i].Cmder = list[i]
		list[i] = &seen[i]
	}
	return seen
}

// argsOf returns the arguments of a command that is not being sent.
func argsOf(cmd goredis.Cmder) []any {
	switch c := cmd.(type) {
	case *counted:
		return c.Cmder.Args()
	case *writeCmd:
		return c.RawCmd.Args()
	}
	return cmd.Args()
}

// unanswered returns err unless it says that the answer is nothing.
func unanswered(err error) error {
	if errors.Is(err, goredis.Nil) {
		return nil
	}
	return err
}

// timesAll returns how often the commands of one pipeline were sent. The client sends a pipeline again as a
// whole; in a cluster what was in the wrong place is sent again one by one.
func (s *Store) timesAll(seen []counted, err error) (most, all int) {
	for i := range seen {
		n := seen[i].times(err)
		if s.inCluster() && n > 0 {
			n-- // the client looks once for the key, by which it finds the server
		}
		most, all = max(most, n), all+n
	}
	if s.inCluster() && most > 0 {
		most = 1 + max(0, all-len(seen))
	}
	return most, all
}

// times returns how often a commit was sent that ended with err.
func (c *writeCmd) times(err error) int {
	if errors.Is(err, errTaken) { // the sender may be at work with it
		return 1
	}
	return c.writes
}
