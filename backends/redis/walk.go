package redis

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// chunkRows is how many rows a chunk of a walk has at most.
const chunkRows = 256

// A mark says where a walk goes on: within the server that the cursor is of, with
// the keys that are left of a page of names, the first of them after a Sort. The
// cursor means nothing to a server that was started anew. In a cluster the servers
// come one after the other, and the walk ends when they divide the slots otherwise:
// what was moved could be missed.
type mark struct {
	Table  string   `json:"table"`
	Server string   `json:"server"`
	Cursor string   `json:"cursor"` // of the page after; "0" is the end of a server
	Keys   []string `json:"keys,omitempty"`
	After  []byte   `json:"after,omitempty"` // from which member on
	Plan   string   `json:"plan,omitempty"`
	Part   int      `json:"part,omitempty"` // which one of the plan
	More   bool     `json:"more,omitempty"` // others come after it

	plan *plan // as this program has it
}

// atEnd reports whether all names were read.
func (m *mark) atEnd() bool { return m.Cursor == "0" && !m.More }

func (m *mark) text() string {
	text, err := json.Marshal(m)
	if err != nil {
		return "" // strings are always JSON
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseMark reads a mark of a walk of a table.
func (v *view) parseMark(text string) (*mark, error) {
	m := &mark{Table: v.name}
	if text == "" {
		return m, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, m)
	}
	if err != nil || m.Table != v.name || m.Server == "" || strings.Trim(m.Cursor, "0123456789") != "" || m.Cursor == "" {
		return nil, invalid("walk %s: the mark is not one of this table", v.name)
	}
	for _, key := range m.Keys {
		if _, ok := v.keyOf(key); !ok {
			return nil, invalid("walk %s: the mark is not one of this table", v.name)
		}
	}
	return m, nil
}

// Walk yields all rows of a table in the order of the server's SCAN, each chunk as
// it is when its turn comes. The server looks at all its keys; pages that have few
// of the table are put together.
func (s *Store) Walk(ctx context.Context, t *driver.Table, from string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		var m *mark
		for more := true; more; {
			var chunk driver.Chunk
			var err error
			for more && len(chunk.Rows) < chunkRows && err == nil {
				m, err = s.fill(ctx, t, m, from, &chunk)
				more = chunk.Mark != ""
			}
			if _, goesOn := errors.AsType[driver.Unread](err); err != nil && !goesOn {
				yield(driver.Chunk{}, err)
				return
			}
			if (len(chunk.Rows) > 0 || err != nil) && !yield(chunk, err) {
				return
			}
		}
	}
}

// fill adds to chunk the rows of a page after m, or after the mark from if m is nil.
func (s *Store) fill(ctx context.Context, t *driver.Table, m *mark, from string, chunk *driver.Chunk) (*mark, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	v, err := s.view(t)
	if err != nil {
		return nil, err
	}
	if m == nil {
		if m, err = v.parseMark(from); err != nil {
			return nil, err
		}
	}
	if len(m.Keys) == 0 {
		if m.atEnd() { // of a mark that was left there
			return m, nil
		}
		if err := s.nextKeys(ctx, v, m); err != nil {
			return nil, err
		}
	}
	if v.class == driver.Records {
		err = s.fillRecords(ctx, v, m, chunk)
	} else {
		err = s.fillMembers(ctx, v, m, chunk)
	}
	chunk.Mark = ""
	if len(m.Keys) > 0 || !m.atEnd() {
		chunk.Mark = m.text()
	}
	return m, err
}

// nextKeys reads the next page of names, from the server that the walk began with, or
// from the one after it.
func (s *Store) nextKeys(ctx context.Context, v *view, m *mark) error {
	doing := "walk " + v.name
	if err := s.find(ctx, doing, m); err != nil {
		return err
	}
	if m.Cursor == "0" {
		m.Part, m.Server, m.Cursor = m.Part+1, "", ""
	}
	if m.Part < 0 || m.Part >= len(m.plan.parts) {
		return invalid("%s: the mark is not one of this table", doing)
	}
	p, cursor := &m.plan.parts[m.Part], m.Cursor
	if cursor == "" {
		cursor = "0"
	}
	cmds := []*goredis.RawCmd{
		goredis.NewRawCmd(ctx, "info", "server"),
		goredis.NewRawCmd(ctx, "scan", cursor, "match", v.head+"*", "count", scanCount),
	}
	if s.inCluster() {
		cmds = append(cmds, goredis.NewRawCmd(ctx, "cluster", "nodes")) // after SCAN: what it says held for that
	}
	if err := s.askPart(ctx, doing, p.client, cmds...); err != nil {
		return err
	}
	info, page := replyOf(cmds[0]), replyOf(cmds[1])
	text, _ := info.text()
	server := parseInfo(text)["run_id"]
	if m.Server != "" && server != m.Server {
		return invalid("%s: the server was started anew, or is another one, since the walk began: walk again from the start", doing)
	}
	if s.inCluster() {
		nodes := replyOf(cmds[2])
		text, _ := nodes.text()
		if now, _ := ownSlots(text); now.slots != p.slots || now.moving {
			return invalid("%s: slots are being moved between servers: walk again from the start when that has ended", doing)
		}
	}
	m.Server, m.After = server, nil
	keys, next, ok := readKeys(&page)
	if !ok {
		return corrupt("%s: the answer to SCAN cannot be read", doing)
	}
	m.Keys, m.Cursor, m.More = keys, next, m.Part+1 < len(m.plan.parts)
	return nil
}

// find asks once who has which keys, and whether they are divided as when the walk
// began.
func (s *Store) find(ctx context.Context, doing string, m *mark) error {
	if m.plan != nil {
		return nil
	}
	p, err := s.plan(ctx, doing)
	if err != nil {
		return err
	}
	if m.Server != "" && m.Plan != p.name {
		return invalid("%s: slots were moved between servers since the walk began: walk again from the start", doing)
	}
	if p.moving {
		return s.moved(doing)
	}
	m.plan, m.Plan = p, p.name
	return nil
}

// keyOf returns the key of a record, or the partition of a set, from its name.
func (v *view) keyOf(name string) (driver.Key, bool) {
	rest, ok := strings.CutPrefix(name, v.head)
	partition, sort, closed := strings.Cut(rest, "}")
	return driver.Key{Partition: partition, Sort: sort}, ok && closed
}

// fillRecords reads the records of some of the names.
func (s *Store) fillRecords(ctx context.Context, v *view, m *mark, chunk *driver.Chunk) error {
	n := min(len(m.Keys), chunkRows)
	var keys []driver.Key
	for _, name := range m.Keys[:n] {
		key, ok := v.keyOf(name)
		if ok && (key.Sort != "" || !v.ordered) { // else it is the order of a partition
			keys = append(keys, key)
		}
	}
	rows := make([]driver.Row, len(keys))
	err := s.get(ctx, v, keys, nil, rows)
	if errors.Is(err, driver.ErrCorrupt) {
		err = s.getEach(ctx, v, keys, rows)
	}
	if _, ok := errors.AsType[driver.Unread](err); err != nil && !ok {
		return err
	}
	for i := range rows {
		if !rows[i].Rev.IsZero() {
			chunk.Rows = append(chunk.Rows, rows[i])
		}
	}
	m.Keys = m.Keys[n:]
	return err
}

// getEach reads the rows under keys one by one; those that cannot be read are as if they
// were not there, and in the error.
func (s *Store) getEach(ctx context.Context, v *view, keys []driver.Key, rows []driver.Row) error {
	var unread driver.Unread
	for i := range keys {
		err := s.get(ctx, v, keys[i:i+1], nil, rows[i:i+1])
		switch {
		case errors.Is(err, driver.ErrCorrupt):
			unread = append(unread, err)
			rows[i].Reset()
		case err != nil:
			return err
		}
	}
	return unread.Err()
}

// fillMembers reads rows of the sets of the names until the chunk is full.
func (s *Store) fillMembers(ctx context.Context, v *view, m *mark, chunk *driver.Chunk) error {
	var unread driver.Unread
	for len(m.Keys) > 0 && len(chunk.Rows)+len(unread) < chunkRows {
		key, ok := v.keyOf(m.Keys[0])
		done := true
		if ok {
			var err error
			done, err = s.fillSet(ctx, v, key, m, chunk, &unread)
			if errors.Is(err, driver.ErrCorrupt) { // it is none of ours, as a whole
				unread, done = append(unread, err), true
			} else if err != nil {
				return err
			}
		}
		if done {
			m.Keys, m.After = m.Keys[1:], nil
		}
	}
	return unread.Err()
}

// fillSet reads the next members of a set, as many as the chunk has room for.
func (s *Store) fillSet(ctx context.Context, v *view, key driver.Key, m *mark, chunk *driver.Chunk, unread *driver.Unread) (done bool, err error) {
	set, limit := v.set(key.Partition), chunkRows-len(chunk.Rows)-len(*unread)
	cmd := goredis.NewRawCmd(ctx, askPage(set, &driver.Span{From: string(m.After)}, limit)...)
	if err := s.read(ctx, cmd); err != nil {
		return false, s.failed(ctx, "walk "+v.name, err)
	}
	r := replyOf(cmd)
	if err := r.refused(); err != nil {
		return false, s.refusedKeys(ctx, "walk "+v.name, err, []string{set}, []string{"zset"})
	}
	n := r.list()
	for range n {
		member, _ := r.text()
		m.After = append([]byte(member), 0)
		row := driver.Row{Key: driver.Key{Partition: key.Partition}}
		if err := v.readWhole(member, &row); err != nil {
			*unread = append(*unread, err)
		} else {
			chunk.Rows = append(chunk.Rows, row)
		}
	}
	return n < limit, nil
}

// readWhole reads a member of a set into row, of which the partition is set already.
func (v *view) readWhole(member string, row *driver.Row) error {
	sort, rest, err := v.cutMember(member)
	if err != nil {
		return err
	}
	row.Key.Sort = sort
	return v.readMember(rest, nil, row)
}
