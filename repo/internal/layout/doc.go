// Package layout says where the records of a schema and the entries of its indexes lie.
// A schema, a mapping and the facts of a store come in; tables, and the keys and rows of a record go out.
package layout
