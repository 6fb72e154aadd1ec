// Package bson reads and writes documents as MongoDB has them. What comes in are values of rows and the bytes of
// answers; what goes out are the bytes of commands, and elements, whose names and texts are slices of the answer. What
// is no BSON, or of a type that no row has, is said to be bad.
package bson
