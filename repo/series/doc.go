// Package series keeps points in time in buckets: a record for each series and span of time, with its points in a list.
// So a range of time is a few records, and old points go by whole buckets. It is the bucket pattern, on every store.
//
// A point is a struct of the user's with a method Time. Points may come late and in any order; they are read in the
// order of their times. Points with the same time are all kept, in no order, or one of them, where points are Unique.
//
// A bucket with as many points as Most is full, and the next points of its span go to another one beside it. So the size
// of a record is bounded, however many points come.
package series
