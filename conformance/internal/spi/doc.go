// Package spi has the rules of the contract of package driver, which call the store themselves.
//
// What comes in is a rule.Env: a store, its tables, and keys of the rule's own. What goes out is the first sentence that
// the store does not keep. No rule calls package repo: what it makes of a store is in package api.
package spi
