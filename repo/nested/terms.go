package nested

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/polystore/polystore/repo"
)

// Terms are what a [Collection] keeps in a record to find it by its sub-objects. The struct of the record embeds
// Terms. The fields belong to the Collection, which sets them at each write; programs leave them alone.
type Terms struct {
	NestedTerms  []string `repo:"nested_terms" json:"-"`
	NestedKey    string   `repo:"nested_key,omitempty" json:"-"` // the text of the record's key
	NestedPlaces []byte   `repo:"nested_places" json:"-"`        // of the terms, with Proximity
}

const (
	termsField  = "nested_terms"
	ownerField  = "nested_key"
	placesField = "nested_places"
)

func (t *Terms) inNested() *Terms { return t }

func termsOf[T any](rec *T) *Terms { return any(rec).(interface{ inNested() *Terms }).inNested() }

func (t *Terms) equal(other *Terms) bool {
	return slices.Equal(t.NestedTerms, other.NestedTerms) && t.NestedKey == other.NestedKey && slices.Equal(t.NestedPlaces, other.NestedPlaces)
}

// longestPlain is how many bytes of a value stand in a term; a longer value is there by its hash.
const longestPlain = 64

// termOf returns the term of a value: "field=value", or "field.number=value" if the number is not 0. The name of a
// field has neither '.' nor '=' nor '#', so different values have different terms. A value that is long or not
// UTF-8 stands there as "#" and a hash.
func termOf(field string, number int, value string) string {
	if number > 0 {
		field += "." + strconv.Itoa(number)
	}
	if len(value) <= longestPlain && utf8.ValidString(value) {
		return field + "=" + value
	}
	sum := sha256.Sum256([]byte(value))
	return field + "#" + hex.EncodeToString(sum[:16])
}

// termsFor returns the terms of sub-objects, for a record whose key has the text owner.
func (c *Collection[T]) termsFor(objects []object, owner string) (Terms, error) {
	if c.schema.Strategy == Numbered {
		return c.numbered(objects, owner)
	}
	var t Terms
	at := map[string][]int{}
	for i, o := range objects {
		for f, v := range o {
			if v.kind == absent {
				continue
			}
			term := termOf(c.shape.fields[f].name, 0, v.text)
			if at[term] == nil {
				t.NestedTerms = append(t.NestedTerms, term)
			}
			at[term] = append(at[term], i)
		}
	}
	if len(t.NestedTerms) > mostRows {
		return Terms{}, fmt.Errorf("the sub-objects have %d different values, and a record has at most %d index rows; name fewer Fields, or split the record: %w",
			len(t.NestedTerms), mostRows, repo.ErrTooLarge)
	}
	if len(t.NestedTerms) > 0 {
		t.NestedKey, t.NestedPlaces = owner, encodePlaces(t.NestedTerms, at)
	}
	return t, nil
}

func (c *Collection[T]) numbered(objects []object, owner string) (Terms, error) {
	if len(objects) > c.schema.Numbers {
		return Terms{}, fmt.Errorf("%d sub-objects, and the schema has %d numbers; raise Numbers, or use the strategy %s, which has no such bound: %w",
			len(objects), c.schema.Numbers, Proximity, repo.ErrTooLarge)
	}
	var t Terms
	for i, o := range objects {
		for f, v := range o {
			if v.kind != absent {
				t.NestedTerms = append(t.NestedTerms, termOf(c.shape.fields[f].name, i+1, v.text))
			}
		}
	}
	if len(t.NestedTerms) > 0 {
		t.NestedKey = owner
	}
	return t, nil
}
