package plan

import (
	"errors"
	"fmt"
	"math"

	"github.com/polystore/polystore/repo/internal/failure"
)

// A Look counts the records that a filter looks at. Copies of a plan share it.
type Look struct {
	left  int
	Found int
	Last  string // the place of the last one
}

// ErrLooked says that a filter may look at no more records.
var ErrLooked = errors.New("enough was looked at")

// LookAt counts the record at a place. It is ErrLooked if that is one too many.
func (p *Plan) LookAt(place string) error {
	switch l := p.Look; {
	case l == nil:
		return nil
	case l.left == 0:
		return ErrLooked
	default:
		l.left--
		l.Last = place
		return nil
	}
}

// Alone makes a copy of a plan that runs beside others count by itself, without an end.
func (p *Plan) Alone() {
	if p.Look != nil {
		p.Look = &Look{left: math.MaxInt}
	}
}

// LookedAt counts what a copy has looked at and found that ran alone: one record, or none. It is ErrLooked if that is one
// too many.
func (p *Plan) LookedAt(alone *Look) error {
	if alone == nil || alone.Last == "" {
		return nil
	}
	if err := p.LookAt(alone.Last); err != nil {
		return err
	}
	p.Look.Found += alone.Found
	return nil
}

// MayLook returns how many of some rows are to be read, 0 for all; the last may be the one too many.
func (p *Plan) MayLook(rows int) int {
	if l := p.Look; l != nil && l.left < math.MaxInt && (rows == 0 || l.left < rows) {
		return l.left + 1
	}
	return rows
}

// Unlooked makes the error of a query out of ErrLooked.
func (p *Plan) Unlooked(redact bool, err error) error {
	if !errors.Is(err, ErrLooked) {
		return err
	}
	return failure.NoIndex("%s: the filter looked at %d records and found %d; let it look at more, read by Page, or add an index that has its fields",
		p.query.Text(redact), p.query.Most, p.Look.Found)
}

// Skip makes a plan find the records that its offset passes over, too. It returns whether the next one found is one.
func (p *Plan) Skip() func() bool {
	left := p.Offset
	if p.Limit > 0 {
		p.Limit += left
	}
	return func() bool {
		left--
		return left >= 0
	}
}

// AppendResidue appends what the conditions say that no run of rows meets.
func (b *Bound) AppendResidue(text []byte) []byte {
	for i := range b.conds {
		if b.conds[i].all != nil {
			text = b.conds[i].appendTo(text)
		}
	}
	for _, conds := range [...][]condition{b.none, b.filt} {
		text = append(text, 0)
		for i := range conds {
			text = conds[i].appendTo(text)
		}
	}
	return text
}

// appendTo appends what a condition says.
func (cond *condition) appendTo(text []byte) []byte {
	return fmt.Appendf(text, "\x00%q %s %t %s %s %s %t %s %t", cond.field, cond.value, cond.set, cond.any, cond.all,
		cond.low.value, cond.low.over, cond.high.value, cond.high.over)
}
