// Package remote does what lies outside of a record's commit: it puts rows and claims before the commit, judges those of
// others, and drops what nobody needs. Such rows and the outcome of a commit come in; rows that are live, pending or dead go out.
package remote
