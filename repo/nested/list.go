package nested

import (
	"context"
	"iter"
	"sync"

	"github.com/polystore/polystore/repo"
)

// A posting is an index row of a term: the text of the record's key and, with Proximity, the positions of all terms
// of the record.
type posting struct {
	Owner  string `repo:"nested_key"`
	Places []byte `repo:"nested_places"`
}

// ownerOnly is a posting without positions, as the index of Numbered has it.
type ownerOnly struct {
	Owner string `repo:"nested_key"`
}

// A source reads index rows.
type source func(ctx context.Context, q repo.Query) iter.Seq2[posting, error]

// How many rows of a term are read at once: few at first, for loops that end early.
const (
	fewRows  = 32
	manyRows = 512
)

// A list is the rows of one term in the order of their owners, read piece by piece. Nothing stays open between two
// pieces.
type list struct {
	term   string
	number int // of the sub-object, with Numbered
	rows   []posting
	size   int // of the next piece
	ended  bool

	// What is not read yet has an owner above from, or from itself.
	from    string
	andFrom bool
}

func (l *list) needsRows() bool { return len(l.rows) == 0 && !l.ended }

// read reads the next piece. Rows with one owner stay together: a program that copied a record may have left several.
func (l *list) read(ctx context.Context, src source) error {
	l.size = min(max(2*l.size, fewRows), manyRows)
	q := repo.Where(termsField+"[]", l.term).Order(ownerField).Limit(l.size)
	if l.andFrom {
		q = q.AtLeast(ownerField, l.from)
	} else if l.from != "" {
		q = q.Above(ownerField, l.from)
	}
	rows, err := repo.Collect(src(ctx, q))
	if err != nil {
		return err
	}
	l.rows = rows
	if l.ended = len(rows) < l.size; l.ended {
		return nil
	}
	l.from = rows[len(rows)-1].Owner
	first := len(rows) - 1
	for first > 0 && rows[first-1].Owner == l.from {
		first--
	}
	if l.andFrom = first > 0; l.andFrom {
		l.rows = rows[:first]
	}
	return nil
}

// skip leaves out the rows below an owner, and those of the owner, too, unless andOwner is set.
func (l *list) skip(owner string, andOwner bool) {
	n := 0
	for n < len(l.rows) && (l.rows[n].Owner < owner || l.rows[n].Owner == owner && !andOwner) {
		n++
	}
	if l.rows = l.rows[n:]; len(l.rows) == 0 && owner >= l.from {
		l.from, l.andFrom = owner, andOwner
	}
}

// atOnce is how many ranges are read at the same time.
const atOnce = 16

// readAll reads the next piece of each list that needs rows.
func readAll(ctx context.Context, lists []*list, src source) error {
	var wait sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	errs := make([]error, len(lists))
	for i, l := range lists {
		if !l.needsRows() {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			errs[i] = l.read(ctx, src)
			<-slots
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
