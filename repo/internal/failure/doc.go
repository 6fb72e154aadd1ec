// Package failure makes the errors of package repo: kinds, errors of one record, and texts without keys and values.
// Causes come in; errors go out that package repo makes *Error of.
package failure
