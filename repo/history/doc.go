// Package history keeps every revision of a record: readable, comparable and restorable, on every store that has a
// backend. It stands on package repo.
//
// A [History] writes records as [repo.Repo] does. Each write puts the record and a revision into one commit: the record
// as it is from then on, or that it was deleted, with a number, a time and, if the caller gives it, who wrote it and
// why. What holds on every store:
//
//   - No write of a History is without its revision, and no revision without its write, also after a crash, and where
//     an answer was lost.
//   - The revisions of a record have the numbers 1, 2, 3 and so on, each once, whoever writes. Times never go back from
//     one revision to the next.
//   - The newest revision has the same [repo.Version] as the record. By that a History knows whether another program
//     has written the record meanwhile without a history.
//
// Revisions are a collection of their own, which lies with that of the records ([repo.Schema].With): "_history" is
// behind its name. Reads and queries of records are those of the plain repository, [History.Records], at its price.
//
// What the plain repository writes, another program too, has no revision. The next write through a History finds this
// out and keeps what it finds as a revision of its own, with Outside set, before that of the write. What the record was
// between is not known. [History.Adopt] does so without another write.
//
// A revision has the fields of T, those of an ",extra" field too. Other fields of the record, which only another program
// declares, are in no revision, and a restored record has them as they are.
//
// Errors are those of package repo.
package history
