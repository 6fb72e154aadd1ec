package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Verb is what a client does.
type Verb string

// The verbs. Patch adds to a field that no index names, and so does Blind, without a look at
// the record; Move patches fields that indexes name. Close is a group of two collections: it closes a key,
// if no record has it.
const (
	Insert   Verb = "insert"
	Put      Verb = "put"
	Replace  Verb = "replace"
	Update   Verb = "update"
	Patch    Verb = "patch"
	Blind    Verb = "patch blind"
	Move     Verb = "move"
	Delete   Verb = "delete"
	Get      Verb = "get"
	Find     Verb = "find" // by Kind
	One      Verb = "one"  // by Mail
	Close    Verb = "close"
	Maintain Verb = "maintain"
	resolve  Verb = "resolve"
)

// An Op is one call of a client.
type Op struct {
	Do      Verb
	Key     string // one of Keys
	Kind    string // "" leaves it to an Update or Move, and is "k0" elsewhere
	Mail    string // "" leaves it to an Update or Move, and is none elsewhere
	N       int64  // what an Insert, Put or Replace writes, and an Update or Patch adds
	Open    bool   // an Insert or Put in a group that checks that the key is not closed
	Both    bool   // in a group that writes the other collection first: an Insert or Put opens the key, a Delete closes it
	Seen    bool   // on condition of the version that the client saw last, if any
	Expires time.Duration
}

// String returns op in words.
func (op Op) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", op.Do, op.Key)
	for _, part := range []struct{ name, value string }{{"kind", op.Kind}, {"mail", op.Mail}} {
		if part.value != "" {
			fmt.Fprintf(&b, " %s %s", part.name, part.value)
		}
	}
	if op.N != 0 {
		fmt.Fprintf(&b, " n %d", op.N)
	}
	if op.Seen {
		b.WriteString(" if as seen")
	}
	if op.Open {
		b.WriteString(" if open")
	}
	if op.Both && op.Do == Delete {
		b.WriteString(" and close")
	} else if op.Both {
		b.WriteString(" and open")
	}
	if op.Expires != 0 {
		fmt.Fprintf(&b, " expires after %s", op.Expires)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Keys names the records that there can be.
var Keys = [...]string{"a", "b", "c"}

// A Scenario is what clients do, and on which schema.
type Scenario struct {
	Name    string
	Index   bool // an index on the kind
	Unique  bool // a unique index on the mail
	Remote  bool // they lie in other partitions than the records
	Expires bool // records can expire
	Closes  bool // there is another collection, of keys that are closed, which lies with that of the records
	Scope   driver.Scope
	Fine    bool // keys read together, and rows of a range, are read one by one

	Before  []Op // done before the clients begin, without faults
	Clients [][]Op
	Resolve bool // a client asks at once what became of a write whose outcome is unknown

	Faults   int
	Leaps    []time.Duration // that time can take, each once
	Switches int             // how often a client that could go on loses its turn; below 0 is no bound
}

const collection, closed = "people", "closed"

// schema returns the schema of s.
func (s *Scenario) schema() repo.Schema {
	out := repo.Schema{Collection: collection, Partition: []string{"home"}, Sort: []string{"id"}}
	kind := repo.Index{Partition: []string{"home"}, Sort: []string{"kind"}}
	mail := repo.Index{Partition: []string{"home"}, Sort: []string{"mail"}, Unique: true}
	if s.Remote {
		out.Partition, out.Sort = []string{"id"}, nil
		kind.Partition, kind.Sort = []string{"kind"}, nil
		mail.Partition, mail.Sort = []string{"mail"}, nil
	}
	kind.Name, mail.Name = "kinds", "mails"
	if s.Index {
		out.Indexes = append(out.Indexes, kind)
	}
	if s.Unique {
		out.Indexes = append(out.Indexes, mail)
	}
	return out
}

// Accepts returns why a store with the facts of s does not take its schema, or nil.
func (s *Scenario) Accepts() error {
	facts := factsOf(s.Scope)
	if s.Expires {
		return repo.Check[guest](facts, s.schema())
	}
	return repo.Check[person](facts, s.schema())
}
