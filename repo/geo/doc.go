// Package geo finds the records of a collection by their place on the earth: those near a point, the nearest first, and
// those in a box or in a polygon. It stands on package repo, so it works on every store that has a backend.
//
// A record has a field of type [Point]. Its stored text is a Z-order code: neighbours have codes that begin alike. So
// an ordinary index of package repo, or the key, with this field in its Sort, finds a region by some ranges. [Places]
// reads the ranges, and compares each record with the region. [Query.Where] fixes what the index has before the place,
// such as a category or a tenant. An index without Partition finds places of all partitions.
//
// What holds on every store:
//
//   - No false hit: each record was in the region when it was read.
//   - No miss: a query finds each record that stays at its place from before the call until after it. A record that
//     moves meanwhile may be missed or come twice.
//   - Near yields records in the order of their distances, however they lie, across the date line and over the poles.
//   - Nothing is approximate but the earth, which is a sphere of radius [EarthRadius].
//
// A region is at first at most 16 ranges, which are read at the same time: by one request on stores that have such
// requests, which are Redis, Pebble and the memory store. A range is read up to 256 records, or with a limit up to twice the
// limit, at least 16. If a range has that many, its four parts are read instead, those that are in the region, at most 16
// at the same time, or with a limit 4. So a query reads at most 16 ranges, and 4 more for each range that was full. Near
// reads no range that is farther away than the last record it yields, beside those that are read at the same time.
// docs/howto/places.md says what that comes to.
//
// Errors are those of package repo.
package geo
