package oracle

import (
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// wrongChildren says what is wrong with the children of the records of an answer, "" if nothing is. It is false where not
// all were looked at for missing ones.
func (o *Oracle) wrongChildren(e *event) (complete bool, text string) {
	complete = true
	q := e.k.Q
	for i, parent := range e.a.Records {
		for j, k := range e.k.Children(parent) {
			list := e.a.Children[i*len(q.Children)+j]
			own := &event{k: &k, a: operation.Answer{N: len(list), Records: list}, o: operation.Done, begin: e.begin, end: e.end}
			text := o.wrongRecords(own)
			if text == "" {
				text = o.wrongOrder(own)
			}
			if text == "" {
				var all bool
				all, text = o.missing(own)
				complete = complete && all
			}
			if text != "" {
				return complete, fmt.Sprintf("%s of %s: %s", k.Q.Collection.Schema.Collection, value.Key(parent, q.Collection.Key()), text)
			}
		}
	}
	return complete, ""
}
