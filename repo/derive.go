package repo

// A Deriver is a record type that derives some of its fields from others: the words of a text, a sum, a field in lower
// case that an index has. Derive is called before each write of the record through this type, on the caller's own
// record, and an error of it is that of the write. [Repo.Patch], and all calls like it, then read the record, make their
// edits, derive, and write the whole record: PatchBlind is no cheaper than Patch. Derive must do the same whenever it
// is called with the same fields, and must not change the key of a record that is there.
//
// Records that others wrote are derived when they are next written: to derive all of them [Repo.Walk] and Update each.
// A program cannot know what another one derives. So one whose schema lacks an index that a program with a Deriver
// declares is ErrSchema, unless the store keeps the index by itself.
type Deriver interface{ Derive() error }
