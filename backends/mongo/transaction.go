package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// together does several ops in one transaction, and reports whether their conditions
// held. The client's WithTransaction is not used: it begins again for two minutes,
// whatever the context says, and sends its commit with a context of its own.
func (s *Store) together(ctx context.Context, c *call) (done bool, err error) {
	session, err := s.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return false, s.failed(ctx, "commit", err)
	}
	journaled := true
	concerns := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetReadPreference(readpref.Primary()).
		SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journaled})
	if err := session.StartTransaction(concerns); err != nil {
		session.EndSession(ctx)
		return false, s.failed(ctx, "commit", err)
	}
	done, err = s.statements(mongodriver.NewSessionContext(ctx, session), c)
	if err != nil || !done {
		driver.TallyOf(ctx).Add(1, 1) // what undoes it
		s.abandon(ctx, session, err)
		return false, err
	}
	return s.conclude(ctx, session)
}

// statements sends the statements of a transaction in the order of the ops.
// Neighbours share one if they are rows without conditions, all written or all removed.
func (s *Store) statements(ctx context.Context, c *call) (done bool, err error) {
	if c.freed {
		if err := s.free(ctx, c); err != nil {
			return false, err
		}
	}
	isNew := false // the record to which the rows belong
	for i := 0; i < len(c.ops); {
		first := i
		op, v := &c.ops[i], c.views[i]
		if op.Do == driver.Check && op.If == driver.Any {
			i++
			continue
		}
		isNew = op.Table.Class == driver.Records && op.Do == driver.Put && op.If == driver.Absent || isNew && op.Table.Class != driver.Records
		st := statement{verb: verbOf(op)}
		if (isNew || v.bare) && !c.upserts && op.Do == driver.Put {
			st.verb = "insert" // of rows, too, which then are hardly ever there: it costs the server less
		}
		st.begin(v)
		v.add(&st, &c.token, op)
		for i++; i < len(c.ops) && shared(op, &c.ops[i]) && len(st.w) < sharedBytes; i++ {
			v.add(&st, &c.token, &c.ops[i])
		}
		if err := st.end(v); err != nil {
			return false, err
		}
		st.w.close(0)
		done, err := s.within(ctx, op, &st)
		if t, ok := errors.AsType[*taken](err); ok {
			t.op = first
		}
		if err != nil || !done {
			return false, err
		}
		if op.If == driver.Absent && (op.Do == driver.Check || op.Do == driver.Delete) {
			if err := s.takeBack(ctx, v, op); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// sharedBytes is from when on a statement takes no further op.
const sharedBytes = 1 << 20

func shared(a, b *driver.Op) bool {
	return a.If == driver.Any && b.If == driver.Any && a.Do == b.Do && a.Table == b.Table && a.Table.Class != driver.Records
}

// errThere is the end of a transaction that would insert a row whose key is there.
var errThere = errors.New("a row is there")

// within sends a statement of a transaction and reports whether the conditions of its
// ops held. With any error the transaction will not be committed, so nothing is done.
func (s *Store) within(ctx context.Context, op *driver.Op, st *statement) (bool, error) {
	n, err := s.write(ctx, st.w)
	if t := takenBy(err, 0); t != nil {
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
	return false, s.failed(ctx, "commit", err)
}

// takeBack removes what stood for a row that must not be there.
func (s *Store) takeBack(ctx context.Context, v *view, op *driver.Op) error {
	st := statement{verb: "delete"}
	st.begin(v)
	one := st.w.open(typeDocument, "0")
	q := st.w.open(typeDocument, "q")
	st.w.text("_id", idOf(&op.Row.Key))
	st.w.close(q)
	st.w.int32("limit", 1)
	st.w.close(one)
	st.n = 1
	if err := st.end(v); err != nil {
		return err
	}
	st.w.close(0)
	_, err := s.within(ctx, op, &st)
	return err
}

// commitTries is how often a commit is sent whose outcome the client does not know:
// the server does it once.
const commitTries = 3

// conclude commits a transaction. The client by itself sends the commit again, until its
// Timeout has passed if it has one: so there is an end for all tries together, and an
// error of one that was not sent does not say that none was.
func (s *Store) conclude(ctx context.Context, session *mongodriver.Session) (done bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, backend.Patience)
	defer cancel()
	for try := 1; ; try++ {
		driver.TallyOf(ctx).Add(1, 1)
		err := session.CommitTransaction(bounded)
		switch {
		case err == nil:
			session.EndSession(ctx)
			return true, nil
		case try == 1 && refusedCommit(err):
			s.abandon(ctx, session, err)
			if hasLabel(err, "TransientTransactionError") {
				return false, beaten(err)
			}
			return false, s.failed(ctx, "commit", err)
		}
		if try == commitTries || backend.Over(bounded) != nil || sleep(bounded, time.Duration(try)*50*time.Millisecond) != nil {
			s.giveUp(session)
			return false, s.unknown(ctx, err)
		}
	}
}

// refusedCommit reports whether the server says that it did not commit, and will not.
func refusedCommit(err error) bool {
	code := codeOf(err)
	return code != 0 && !hasLabel(err, "UnknownTransactionCommitResult") &&
		(hasLabel(err, "TransientTransactionError") || slices.Contains(definite[:], code))
}

// unknown is the error of a commit of which nobody said whether it was done.
func (s *Store) unknown(ctx context.Context, err error) error {
	if cause := backend.Over(ctx); cause != nil {
		return fmt.Errorf("mongo: commit: %s: %w: %w: %w", s.addr, driver.ErrUnknownOutcome, cause, told(err))
	}
	return fmt.Errorf("mongo: commit: %s: %w: %w", s.addr, driver.ErrUnknownOutcome, told(err))
}
