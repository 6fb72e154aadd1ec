// Package catalog is what a store remembers of each collection: its schema, how far its indexes are built, and since when every
// program knows. A layout comes in; a Collection goes out, under whose lease its calls read and write.
package catalog
