// Package nested finds records by the sub-objects that they hold: the people one of whose skills is Poetry at the
// level excellent. It stands on package repo, so it works on every store that has a backend.
//
// A record has a list of sub-objects. Two indexes, of all skills and of all levels, would also find a person who is
// poor in poetry and excellent in mathematics. A [Collection] keeps [Terms] in each record instead, which say in
// which sub-object each value stands. An index of package repo finds the records by their terms. A [Strategy] says
// how the terms are written. All strategies give the same answers at different costs, which [Collection.Explain] and
// [Collection.Rows] show.
//
// What holds on every store:
//
//   - Terms and sub-objects are fields of one record, so one write changes both. Package repo keeps the index rows
//     of the terms in step, by the protocol by which it keeps every index.
//   - No false hit: each record is compared with the query after it is read. A stale row, a row of another program
//     or two values with the same hash never bring a wrong record.
//   - No miss: a query finds each record that matches from before the call until after it. Exception: with
//     [Numbered], a writer gives the matching sub-objects other numbers meanwhile.
//   - No record is found twice. Records come in the order of the texts of their keys; integers there sort as texts.
//
// Every write of a Collection makes the terms anew. A program that writes the list by the plain [repo.Repo] calls
// [Collection.Fill] first. If it does not, queries may miss the record: [Collection.Verify] names such records, and
// [Collection.Repair] writes their terms.
//
// The methods of a Collection may be called by many goroutines at once. Errors are those of package repo.
package nested
