package redis

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// mostSets is how many sets are read in one pipeline.
const mostSets = 64

// A walk is on its way through the keys of a table. Those that were found are waiting to be
// read, the first of them from a member on.
type walk struct {
	store   *store
	view    *view
	waiting []listed
	from    string
	next    listed // after which the lists are to be asked
	width   int    // sets to be read at once: many where they are small
}

// begin returns the walk that goes on at a mark.
func (s *store) begin(v *view, mark string) (*walk, error) {
	w := &walk{store: s, view: v, width: 1}
	if mark == "" {
		return w, nil
	}
	place, ok := frame.ParseMark(v.Name, mark)
	number, place, _ := strings.Cut(place, " ")
	name, from, _ := strings.Cut(place, "\x00")
	list, err := strconv.Atoi(number)
	if _, ours := v.keyOf(name); !ok || err != nil || list < 0 || list >= wire.Slots || !ours {
		return nil, who.OtherMark(v.Name)
	}
	w.next, w.from = listed{list, name}, from
	w.waiting = []listed{w.next}
	return w, nil
}

// mark returns where the walk is, "" if it is at the end: in a list of names at a key and, if that is a set, at a
// member.
func (w *walk) mark() string {
	if len(w.waiting) == 0 {
		return ""
	}
	at := w.waiting[0]
	return frame.Mark(w.view.Name, itoa(at.list)+" "+at.name+"\x00"+w.from)
}

// Walk yields all rows of a table by its list of names, but dead records that go by
// themselves. Its marks are good for ever.
func (s *store) Walk(ctx context.Context, t *driver.Table, from string) iter.Seq2[driver.Chunk, error] {
	var w *walk
	return s.frame.Chunks(ctx, t, from, func(ctx context.Context, v *view, from string) (_ driver.Chunk, err error) {
		if w == nil || w.view != v || w.mark() != from {
			if w, err = s.begin(v, from); err != nil {
				return driver.Chunk{}, err
			}
		}
		var chunk frame.Chunk
		if err := w.fill(ctx, &chunk); err != nil {
			return driver.Chunk{}, err
		}
		chunk.Mark = w.mark()
		return chunk.Chunk, chunk.Unread.Err()
	})
}

// fill adds the next rows of a walk to a chunk.
func (w *walk) fill(ctx context.Context, chunk *frame.Chunk) error {
	for chunk.Len() < frame.ChunkRows {
		if err := w.find(ctx); err != nil || len(w.waiting) == 0 {
			return err
		}
		members, err := w.readSets(ctx, frame.ChunkRows-chunk.Len(), &chunk.Unread)
		if err == nil && w.view.Class == driver.Records {
			members, err = nil, w.readRecords(ctx, members, chunk)
		}
		for i := 0; i < len(members) && err == nil; i++ {
			row := driver.Row{Key: driver.Key{Partition: members[i].of.Partition}}
			err = chunk.Take(&row, w.view.readWhole(members[i].text, nil, &row))
		}
		if err != nil {
			return err
		}
	}
	return w.find(ctx) // so that the mark of the last chunk says that it is that
}

// find has keys waiting, if there are any left.
func (w *walk) find(ctx context.Context) (err error) {
	for len(w.waiting) == 0 && w.next.list < w.store.lists() && err == nil {
		w.waiting, w.next, err = w.store.names(ctx, "walk "+w.view.Name, w.view.head, w.next)
	}
	return err
}

// A member is one of a set of a partition or, without a text, a record itself.
type member struct {
	of   driver.Key
	text string
}

// readSets reads members of the first keys that wait, as many as there is room for, and takes
// those keys out of which nothing is left.
func (w *walk) readSets(ctx context.Context, room int, unread *driver.Unread) (members []member, err error) {
	n := min(w.width, len(w.waiting), max(1, room/4))
	limit := room / n
	cmds, keys := make([]*goredis.RawCmd, n), make([]driver.Key, n)
	var asked []*goredis.RawCmd
	for i := range n {
		keys[i], _ = w.view.keyOf(w.waiting[i].name)
		if !w.view.isSet(keys[i]) {
			continue
		}
		span := driver.Span{}
		if i == 0 {
			span.From = w.from
		}
		cmds[i] = goredis.NewRawCmd(ctx, askPage(w.waiting[i].name, &span, limit)...)
		asked = append(asked, cmds[i])
	}
	doing := "walk " + w.view.Name
	if err := w.store.conn.askAll(ctx, doing, asked); err != nil {
		return nil, err
	}
	for i, cmd := range cmds {
		if cmd == nil {
			members = append(members, member{of: keys[i]})
			w.from = ""
			continue
		}
		r, err := w.store.conn.reply(ctx, doing, "zset", cmd)
		if errors.Is(err, driver.ErrCorrupt) {
			*unread = append(*unread, err) // it is none of ours, as a whole
		} else if err != nil {
			return nil, err
		}
		texts := r.Texts()
		for _, text := range texts {
			members = append(members, member{keys[i], text})
		}
		if len(texts) == limit { // the rest of it comes first
			w.waiting, w.from, w.width = w.waiting[i:], texts[limit-1]+"\x00", max(1, i)
			return members, nil
		}
		w.from = ""
	}
	w.waiting, w.width = w.waiting[n:], min(2*w.width, mostSets)
	return members, nil
}

// recordOf returns the key of the record that a member of their order stands for.
func (v *view) recordOf(m *member) driver.Key {
	switch {
	case m.text == "":
		return m.of
	case v.ordered:
		return driver.Key{Partition: m.of.Partition, Sort: m.text}
	}
	return driver.Key{Partition: m.text}
}

// readRecords reads the records of members of their order.
func (w *walk) readRecords(ctx context.Context, members []member, chunk *frame.Chunk) error {
	keys := make([]driver.Key, len(members))
	for i := range members {
		keys[i] = w.view.recordOf(&members[i])
	}
	rows := make([]driver.Row, len(keys))
	all := w.store.Get(ctx, w.view, keys, nil, rows)
	for i := range rows {
		err := all
		if errors.Is(all, driver.ErrCorrupt) { // of one of them
			err = w.store.Get(ctx, w.view, keys[i:i+1], nil, rows[i:i+1])
		}
		if err == nil && rows[i].Rev.IsZero() {
			continue
		}
		if err := chunk.Take(&rows[i], err); err != nil {
			return err
		}
	}
	return nil
}

// eachKey calls do with the names of all keys of a table, some hundreds at a time: those of
// records that are not dead, and listed ones to which no further record belongs.
func (s *store) eachKey(ctx context.Context, v *view, do func(keys []string, done []listed) error) error {
	w := &walk{store: s, view: v, width: 1}
	for {
		if err := w.find(ctx); err != nil || len(w.waiting) == 0 {
			return err
		}
		waited := w.waiting
		var keys []string
		if v.Class == driver.Records {
			var unread driver.Unread // a key of another program is passed over
			members, err := w.readSets(ctx, 2*frame.ChunkRows, &unread)
			if err != nil {
				return err
			}
			for i := range members {
				if key := v.recordOf(&members[i]); members[i].text != "" {
					keys = append(keys, v.key(&key))
				}
			}
		} else {
			w.waiting = nil
		}
		if err := do(keys, waited[:len(waited)-len(w.waiting)]); err != nil {
			return err
		}
	}
}
