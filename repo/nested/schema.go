package nested

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A Strategy is how the values of sub-objects become terms. All strategies give the same answers.
type Strategy string

// The strategies.
const (
	// Proximity makes a term of each different value, such as "skill=Math". The row of a term carries the positions
	// of all terms of the record. A query reads one range for each condition and intersects the ranges by record and
	// position.
	Proximity Strategy = "proximity"

	// Numbered makes a term of each value of each sub-object, such as "skill.1=Math", as if the sub-objects were
	// numbered fields. A query asks for each number: it reads a range for each condition and number. A record has at
	// most as many sub-objects as there are numbers.
	Numbered Strategy = "numbered"
)

// A Schema says how records are kept, and which of their values are found.
type Schema struct {
	// Records is the schema of the records themselves. Open adds an index to it. The fields of the key are texts,
	// integers, bools and times of milliseconds.
	Records repo.Schema

	// List names the field with the sub-objects: a list of structs.
	List string

	// Fields names the fields of the sub-objects that queries ask for: texts, integers and bools, or pointers to
	// these. An absent field has no term. Nil is all fields of these kinds. All programs name the same fields: after a
	// change, and as long as older programs write, [Collection.Repair] makes the terms that are missing.
	Fields []string

	// Strategy is how the terms are written. "" is Proximity. All programs that share the collection have the same
	// one. With another one, Open refuses a collection that has records: see docs/howto/nested.md.
	Strategy Strategy

	// Numbers is how many sub-objects a record has at most with Numbered. 0 is 16. Each number costs each query a
	// range for each condition.
	Numbers int
}

const (
	defaultNumbers = 16
	mostRows       = 256 // of all indexes of a record, as docs/reference/records.md says
)

// complete fills in the defaults, and checks what does not depend on the type of the records.
func (s *Schema) complete() error {
	if s.Strategy == "" {
		s.Strategy = Proximity
	}
	if s.Strategy != Numbered {
		s.Numbers = 0
	} else if s.Numbers == 0 {
		s.Numbers = defaultNumbers
	}
	switch {
	case s.Strategy != Numbered && s.Strategy != Proximity:
		return fmt.Errorf("strategy %q is none of %q, %q: %w", s.Strategy, Proximity, Numbered, repo.ErrSchema)
	case s.Numbers < 0:
		return fmt.Errorf("%d numbers; at least one is needed: %w", s.Numbers, repo.ErrSchema)
	case s.List == "":
		return fmt.Errorf("the schema names no List of sub-objects: %w", repo.ErrSchema)
	}
	return nil
}

// checkRows refuses numbers that a record could not have the rows for.
func (s *Schema) checkRows(fields int) error {
	if s.Numbers*fields > mostRows {
		return fmt.Errorf("%d numbers of %d fields are more than the %d index rows of a record; lower Numbers, name fewer Fields or use the strategy %s: %w",
			s.Numbers, fields, mostRows, Proximity, repo.ErrSchema)
	}
	return nil
}

// indexName differs for each way to write terms, so that programs with different ways do not share an index.
func (s *Schema) indexName() string {
	if s.Strategy == Numbered {
		return fmt.Sprintf("nested_%s_%d", s.Strategy, s.Numbers)
	}
	return "nested_" + string(s.Strategy)
}

// alone refuses a collection whose records have terms that are written in another way: they have one field for them.
func (s *Schema) alone(ctx context.Context, store *repo.Store) error {
	if store == nil {
		return nil // which repo.Open refuses
	}
	stored, err := repo.SchemaOf(ctx, store, s.Records.Collection)
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	for _, x := range stored.Indexes {
		if strings.HasPrefix(x.Name, "nested_") && x.Name != s.indexName() {
			return fmt.Errorf("the records have terms for index %s, and the schema's strategy writes others for %s; remove that index with repo.DropIndex when no program asks it any more: %w", x.Name, s.indexName(), repo.ErrSchema)
		}
	}
	return err
}

// records returns the schema of the records with the index of the terms.
func (s *Schema) records() repo.Schema {
	x := repo.Index{Name: s.indexName(), Partition: []string{termsField + "[]"}, Sort: []string{ownerField}}
	if s.Strategy == Proximity {
		x.Covers = []string{placesField}
	}
	out := s.Records
	out.Indexes = append(slices.Clone(out.Indexes), x)
	return out
}
