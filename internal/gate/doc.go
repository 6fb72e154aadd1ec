// Package gate proves the interface of package driver against real servers. Its
// tests read statements.md, send them to Redis, MongoDB and
// Cassandra, and compare every answer with that of the memory backend. For each
// group of checks a statement is then spoilt on purpose, and the check must
// notice.
//
// What is proven here are statements, not backends: the stores in the tests know
// the tables of the tests and nothing else.
package gate
