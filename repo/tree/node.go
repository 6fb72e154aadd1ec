package tree

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
)

// A Node is what a tree keeps of a record. Embed it in the struct of the records:
//
//	type Category struct {
//		tree.Node
//		Name string `repo:"name"`
//	}
//
// A program sets ID before Insert, and reads the other fields: only the methods of a [Tree] change them.
type Node struct {
	Tree    string       `repo:"tree" json:"-"`                  // the name of the tree
	ID      string       `repo:"id" json:"id"`                   // of the node, unique in its tree
	Parent  string       `repo:"parent" json:"parent,omitempty"` // the ID of the parent, "" of a root
	Version repo.Version `repo:",version" json:"-"`
	Kept    `json:"-"`
}

// Kept are the fields by which a strategy finds nodes. What is in them is not for programs to rely on.
type Kept struct {
	Place     string   `repo:"place"`             // among the siblings
	Path      string   `repo:"path,omitempty"`    // the places and IDs from the root on, of [Path]
	Ancestors []string `repo:"ancestors"`         // from the root on, of [Ancestors]
	Left      int64    `repo:"left,omitempty"`    // of [NestedSets]: what lies below a node has numbers between its
	Right     int64    `repo:"right,omitempty"`   // Left and Right
	State     string   `repo:"state,omitempty"`   // closing or gone
	Refused   string   `repo:"refused,omitempty"` // the last closing states that were taken from it, since it had children
	Keeps     string   `repo:"keeps,omitempty"`   // of which strategies the node has what they keep; its children have it, too
}

// The states of a node. No node comes below one that has a state, but one that goes back below what is closing.
const (
	closing = "closing " // and a token of the deletion: it will be removed if it has no children
	gone    = "gone"     // it is removed with all that is below it; readers do not see it
)

func (k *Kept) isClosing() bool { return strings.HasPrefix(k.State, closing) }

// mostRefused is how many closing states a node remembers.
const mostRefused = 8

// refuse opens a closing node.
func (k *Kept) refuse() {
	if strings.Count(k.Refused, closing) == mostRefused {
		k.Refused = k.Refused[len(k.State):] // all have the same length
	}
	k.Refused, k.State = k.Refused+k.State, ""
}

// wasRefused reports whether a node was opened that had a closing state.
func (k *Kept) wasRefused(state string) bool { return strings.Contains(k.Refused, state) }

func (n *Node) inTree() *Node { return n }

// nodeOf returns the Node that a record embeds.
func nodeOf[T any](rec *T) *Node { return any(rec).(interface{ inTree() *Node }).inTree() }

func (n *Node) key() repo.Key { return repo.Key{n.Tree, n.ID} }

// keyed are the columns of the longest key that has the ID of a node: in the index of children, of one below it.
var keyed = append([]driver.Column{{Name: "tree", Kind: driver.String}, {Name: "parent", Kind: driver.String}}, segment[:1]...)

// tooLong is ErrTooLarge if the ID of a node, or of its parent, has no room in a key.
func (n *Node) tooLong() error {
	for _, id := range []string{n.ID, n.Parent} {
		vals := []driver.Value{driver.StringValue(n.Tree), driver.StringValue(id), driver.StringValue(firstPlace)}
		if key, err := driver.AppendParts(nil, keyed, vals); err == nil && len(key) > limit.MaxKey {
			return fmt.Errorf("an ID of %d bytes: with the name of the tree and a place it is a key, which has at most %d bytes: %w", len(id), limit.MaxKey, repo.ErrTooLarge)
		}
	}
	return nil
}

// same reports whether a Node is as another one.
func (n *Node) same(as *Node) bool {
	return n.Tree == as.Tree && n.ID == as.ID && n.Parent == as.Parent && n.Version == as.Version && n.Place == as.Place &&
		n.Path == as.Path && n.Left == as.Left && n.Right == as.Right && n.Keeps == as.Keeps && n.State == as.State && n.Refused == as.Refused && slices.Equal(n.Ancestors, as.Ancestors)
}

// embeds is ErrSchema unless a record embeds a Node all of whose fields are to be seen.
func embeds(record reflect.Type) error {
	node, found := reflect.TypeFor[Node](), false
	if record.Kind() == reflect.Struct {
		f, ok := record.FieldByName("Node")
		found = ok && f.Anonymous && f.Type == node
	}
	if !found {
		return fmt.Errorf("%s does not embed a tree.Node: %w", record, repo.ErrSchema)
	}
	for _, f := range reflect.VisibleFields(node) {
		seen, ok := record.FieldByName(f.Name)
		for i := 1; ok && i < len(seen.Index); i++ {
			if at := record.FieldByIndex(seen.Index[:i]).Type; at == node {
				ok = false
			}
		}
		if ok {
			return fmt.Errorf("the field %s of %s hides that of tree.Node; give it another name: %w", f.Name, record, repo.ErrSchema)
		}
	}
	return nil
}
