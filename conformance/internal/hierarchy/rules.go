package hierarchy

import (
	"context"

	"github.com/polystore/polystore/conformance/internal/rule"
)

// A check is a rule on trees of any kind.
type check struct {
	name, sentence string
	do             func(ctx context.Context, e *env)
}

func checks() []check {
	return []check{
		{"lists", "A tree answers as plain lists do, whatever was inserted, moved and deleted.", asLists},
		{"opposite moves", "Of two moves at the same time that would make a cycle one is refused.", oppositeMoves},
		{"insert and delete", "Of an insert below a node and its deletion at the same time one is refused.", insertAndDelete},
		{"writer that stops", "A move or deletion of many nodes that a program began and never ended is whole for readers, and the next program ends it.", stops},
		{"reads during moves", "A subtree that is read while it is moved is complete.", readsDuringMoves},
		{"histories", "What clients see of a tree at once is explained by some order of their calls.", histories},
	}
}

// Rules returns the rules: each check on each kind of trees.
func Rules() []rule.Rule {
	var all []rule.Rule
	for _, k := range kinds() {
		var list []rule.Entry[*env]
		for _, c := range checks() {
			list = append(list, rule.Entry[*env]{
				Name: k.String() + ": " + c.name, Sentence: c.sentence, Needs: k.needs(),
				Check: func(ctx context.Context, e *env) { c.do(ctx, e) },
			})
		}
		all = append(all, rule.In(rule.Trees, func(e *rule.Env) *env { return &env{e, k} }, list)...)
	}
	return all
}
