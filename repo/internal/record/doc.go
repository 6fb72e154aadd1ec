// Package record turns structs and maps into values, and back.
// A record type comes in; a Mapping goes out, which encodes, decodes and edits records of the type.
package record
