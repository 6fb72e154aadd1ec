package mongo

import (
	"context"
	"errors"
	"slices"
	"time"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// together does several ops in one transaction, and reports whether their conditions
// held. The client's WithTransaction is not used: it begins again for two minutes,
// whatever the context says, and sends its commit with a context of its own.
func (c *commit) together(ctx context.Context) (done bool, err error) {
	session, err := c.store.conn.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return false, c.store.conn.failed(ctx, "commit", err)
	}
	journaled := true
	concerns := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetReadPreference(readpref.Primary()).
		SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journaled})
	if err := session.StartTransaction(concerns); err != nil {
		session.EndSession(ctx)
		return false, c.store.conn.failed(ctx, "commit", err)
	}
	done, err = c.statements(mongodriver.NewSessionContext(ctx, session))
	if err != nil || !done {
		sent := driver.TallyOf(ctx).Begin(ctx, 1) // what undoes it
		c.store.conn.undoer.abandon(ctx, session, err)
		sent.End(1, 1, nil)
		return false, err
	}
	return c.conclude(ctx, session)
}

// statements sends the statements of a transaction.
func (c *commit) statements(ctx context.Context) (done bool, err error) {
	if c.freed {
		if err := c.free(ctx); err != nil {
			return false, err
		}
	}
	for _, p := range c.parts() {
		if done, err := c.part(ctx, &p); err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

// A way is how an op is done: ops of one way share statements.
type way struct {
	view *view
	verb string
	do   driver.Verb
	cond driver.Cond
}

// A part is the ops of a commit that are done in one way.
type part struct {
	way
	ops []int
}

// parts returns the parts of a commit in the order of their first ops. Each key is named once, so
// that the order of the others does not matter.
func (c *commit) parts() (list []part) {
	isNew := false // the record to which the rows belong
	for i := range c.ops {
		op := &c.ops[i]
		if op.Do == driver.Check && op.If == driver.Any {
			continue
		}
		w := way{c.views[i], verbOf(op), op.Do, op.If}
		isNew = op.Table.Class == driver.Records && op.Do == driver.Put && op.If == driver.Absent || isNew && op.Table.Class != driver.Records
		if (isNew || w.view.KeyOnly) && !c.upserts && op.Do == driver.Put && op.If == driver.Any {
			w.verb = "insert" // of rows, too, which then are hardly ever there: it costs the server less
		}
		at := slices.IndexFunc(list, func(p part) bool { return p.way == w })
		if at < 0 || w.comesAndGoes() {
			at, list = len(list), append(list, part{way: w})
		}
		list[at].ops = append(list[at].ops, i)
	}
	return list
}

// comesAndGoes reports whether an op, of a row that must not be there, is done by one that stands
// for it and is taken back.
func (w *way) comesAndGoes() bool {
	return w.cond == driver.Absent && (w.do == driver.Check || w.do == driver.Delete)
}

// sharedBytes is from when on a statement takes no further op.
const sharedBytes = 1 << 20

// part sends the statements of a part, and reports whether the conditions of its ops held.
func (c *commit) part(ctx context.Context, p *part) (done bool, err error) {
	for left := p.ops; len(left) > 0; {
		st := p.view.statement(p.verb, &c.token)
		n := c.fill(&st, p, left)
		if err := st.end(); err != nil {
			return false, err
		}
		done, err := c.within(ctx, &c.ops[left[0]], &st)
		if t, ok := errors.AsType[*taken](err); ok {
			t.op = left[t.op]
		}
		if err != nil || !done {
			return false, err
		}
		left = left[n:]
	}
	if p.comesAndGoes() {
		err = c.takeBack(ctx, p.view, &c.ops[p.ops[0]])
	}
	return err == nil, err
}

// fill adds the first of some ops to a statement, and returns how many.
func (c *commit) fill(st *statement, p *part, at []int) (n int) {
	if p.touches() && len(at) > 1 {
		return st.touch(c.ops, at)
	}
	for n == 0 || n < len(at) && st.w.Len() < sharedBytes {
		st.add(&c.ops[at[n]])
		n++
	}
	return n
}

// errThere is the end of a transaction that would insert a row whose key is there.
var errThere = errors.New("a row is there")

// within sends a statement of a transaction and reports whether the conditions of its
// ops held. With any error the transaction will not be committed, so nothing is done.
func (c *commit) within(ctx context.Context, op *driver.Op, st *statement) (bool, error) {
	n, err := c.store.conn.write(ctx, st.w.End())
	if t := takenBy(err); t != nil {
		return false, t
	}
	code := codeOf(err)
	switch {
	case code == codeDuplicateKey && op.If == driver.Any && st.verb == "insert": // an upsert says so of what was done before
		return false, errThere
	case err == nil:
		return n == st.n || op.If == driver.Any && op.Do != driver.Put, nil
	case refuses(op, code):
		return false, nil
	case code != 0 && hasLabel(err, "TransientTransactionError"), code == codeWriteConflict:
		return false, beaten(err)
	}
	return false, c.store.conn.failed(ctx, "commit", err)
}

// takeBack removes what stood for a row that must not be there.
func (c *commit) takeBack(ctx context.Context, v *view, op *driver.Op) error {
	st := v.statement("delete", &c.token)
	st.w.Open("0")
	st.w.TextIn("q", "_id", idOf(&op.Row.Key))
	st.w.Int32("limit", 1)
	st.n = 1
	_, err := c.within(ctx, op, &st)
	return err
}

// commitTries is how often a commit is sent whose outcome the client does not know:
// the server does it once.
const commitTries = 3

// conclude commits a transaction. The client by itself sends the commit again, until its
// Timeout has passed if it has one: so there is an end for all tries together, and an
// error of one that was not sent does not say that none was.
func (c *commit) conclude(ctx context.Context, session *mongodriver.Session) (done bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, frame.Patience)
	defer cancel()
	for try := 1; ; try++ {
		sent := driver.TallyOf(ctx).Begin(ctx, 1)
		err := session.CommitTransaction(bounded)
		sent.End(1, 1, err)
		switch {
		case err == nil:
			session.EndSession(ctx)
			return true, nil
		case try == 1 && refusedCommit(err):
			c.store.conn.undoer.abandon(ctx, session, err)
			if hasLabel(err, "TransientTransactionError") {
				return false, beaten(err)
			}
			return false, c.store.conn.failed(ctx, "commit", err)
		}
		if try == commitTries || frame.Over(bounded) != nil || who.Sleep(bounded, time.Duration(try)*50*time.Millisecond) != nil {
			c.store.conn.undoer.giveUp(session)
			return false, who.Unknown(ctx, c.store.conn.addr, told(err))
		}
	}
}

// refusedCommit reports whether the server says that it did not commit, and will not.
func refusedCommit(err error) bool {
	code := codeOf(err)
	return code != 0 && !hasLabel(err, "UnknownTransactionCommitResult") &&
		(hasLabel(err, "TransientTransactionError") || slices.Contains(definite[:], code))
}
