package driver

// A Row is one row of a table.
type Row struct {
	Key Key

	// Rev is the token of the commit that last changed the row, set by the
	// store. It is zero when there is no such row.
	Rev Token

	// Ring has the tokens of the last Table.Ring commits that changed the row,
	// newest first, those of the verb [Fence] left out. The store keeps it. In an
	// Op with AtRev it may have the Ring that was read with Op.Rev, for stores that
	// would have to read it again.
	Ring []Token

	// Fields are the values by ordinal of Table.Fields or, in a row read with a
	// mask, by position in the mask. Missing ones at the end are absent.
	Fields []Value

	// Extra are values of fields that the table does not declare, ascending by
	// name. A read with a mask leaves them out.
	Extra []Pair

	// Expires is the Unix time in milliseconds from which package repo treats
	// the row as absent; 0 is never. To a store it is data: it must neither
	// hide nor drop the row because of it.
	Expires int64

	// Dead marks a tombstone: a record that was deleted, and whose Ring is still
	// needed. There are none outside Records tables. A store keeps it like
	// Expires, but a dead row is not [Present], and no row of a Range.
	Dead bool

	// Meta is package repo's own. A store returns it as it was written.
	Meta string

	// Hint is the store's own: what a Get or a Walk put there comes back in the Op that
	// changes the row. It is never stored. 0 is no hint.
	Hint uint64
}

// Reset makes r the row that is not there and keeps its slices for reuse.
func (r *Row) Reset() {
	*r = Row{Ring: r.Ring[:0], Fields: r.Fields[:0], Extra: r.Extra[:0]}
}

// A Pair is a named value.
type Pair struct {
	Name  string
	Value Value
}

// A Verb is what an [Op] does.
type Verb uint8

// The verbs.
const (
	Check  Verb = iota // change nothing, but test the condition
	Put                // write the whole row; what was there before is gone
	Patch              // of a record: apply Edits, and Row.Expires and Row.Note if PatchMeta is set; If is Present or AtRev
	Delete             // remove the row
	Fence              // of a record: give it a new Rev and nothing else; a missing one comes to be, Dead, with Row.Expires; If is Absent or AtRev
)

// String returns the verb in lower case.
func (v Verb) String() string { return nameOf("verb", v, "check", "put", "patch", "delete", "fence") }

// A Cond is what must hold of the row before a commit for an [Op] to be done.
type Cond uint8

// The conditions.
const (
	Any     Cond = iota // nothing
	Absent              // there is no row, not even a dead one
	Present             // there is a row that is not Dead
	AtRev               // there is a row and its Rev is Op.Rev
)

// String returns the condition in lower case.
func (c Cond) String() string { return nameOf("condition", c, "any", "absent", "present", "at rev") }

// An Op is one change of a commit.
type Op struct {
	Do    Verb
	Table *Table
	Row   Row // Key always; the rest as Do says. Rev is the store's.
	If    Cond
	Rev   Token  // for AtRev
	Edits []Edit // one for a field at most

	PatchMeta bool // of a Patch: Row.Expires and Row.Note replace those of the row
}

// An EditVerb is what an [Edit] does to one field.
type EditVerb uint8

// The verbs of an edit.
const (
	Set   EditVerb = iota // the field becomes Value; an absent Value removes it
	Unset                 // the field becomes absent
	Add                   // the Int field grows by Value, an Int; absent counts as 0
)

// An Edit changes one field of a row. Field is the ordinal in Table.Fields, or
// -1 for the undeclared field Name.
type Edit struct {
	Do    EditVerb
	Field int
	Name  string
	Value Value
}

// A Refusal says that a commit changed nothing because a condition did not hold.
type Refusal struct {
	Op  int // index of the first Op whose condition did not hold
	Row Row // what is there now, whole; zero Rev when there is no row

	// Where the store reads Row after it has refused, another commit may have come
	// between, so that the condition holds of it.

	// Overflow says that the Op was a Patch and Edits[Edit], an Add, leaves the
	// range of int64 or meets a value that is no Int.
	Overflow bool
	Edit     int

	// Why says, for people, what the store knows of the reason beyond the condition; it may be "".
	Why string

	// Native names the unique native index by which another row than that of the Op has
	// the values that the Op would write. Row is that other row, of its Home, with
	// its Key; its Rev is zero when it was gone by the time it was looked for.
	Native string
}

// A Span is a run of rows of one partition that are not Dead. From and To are texts
// of [AppendParts], beginnings of such texts, or what [After] makes of either; a
// row is in the span if From <= Sort and, unless To is "", Sort < To, compared
// bytewise.
type Span struct {
	Table   *Table
	Key     Key // Sort is not used
	From    string
	To      string
	Reverse bool  // last row first
	Limit   int   // at most so many rows; 0 is no limit
	Mask    []int // ordinals of the fields to read; nil is all of them and Extra

	// Want says by the Sort of a row whether [Ranger.Ranges] yields it; nil is all rows. A row that is not wanted counts
	// for Limit, and so may a Dead one. Nothing else asks it. It must not call the store.
	Want func(sort string) bool

	// Low and High are From and To in values, where Table is Native. Nil is the end
	// of the partition. From and To are the texts of the same, followed by the text of
	// the record's key: all of it, or its Sort alone if Home has the same Partition.
	Low, High *Bound
}

// Wants reports whether a row with a Sort is wanted: see Want.
func (s *Span) Wants(sort string) bool { return s.Want == nil || s.Want(sort) }

// A Bound is a place in the order of the entries of one partition of a native index:
// before all entries whose columns begin with Values, or after them.
type Bound struct {
	Values []Value // of the first columns of Sort, at most all of them
	Record *Key    // if there are all: only the entry of the row of Home with this key
	Over   bool    // after, not before
}

// A Chunk is a run of rows from [Store.Walk], and the mark from which a later
// walk goes on after them.
type Chunk struct {
	Rows []Row
	Mark string // never "" except with the last chunk
}
