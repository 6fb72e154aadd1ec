// Package api has the rules of package repo on the store under test.
//
// What comes in is a rule.Env: a store, and names of the rule's own. What goes out is the first sentence that is not
// kept, by the store or by package repo. Some rules put a store of their own between the two, which loses answers, say.
package api
