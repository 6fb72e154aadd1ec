package cassandra

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"strings"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// Walk yields all rows of a table in the order of the tokens of their partitions, each
// chunk as it is when its turn comes. A mark is the server's own state of a page, and
// good in other programs and after restarts.
func (s *Store) Walk(ctx context.Context, t *driver.Table, from string) iter.Seq2[driver.Chunk, error] {
	return backend.Walk(from, func(from string) (driver.Chunk, error) { return s.chunk(ctx, t, from) })
}

// chunk reads the rows after a mark.
func (s *Store) chunk(ctx context.Context, t *driver.Table, from string) (driver.Chunk, error) {
	if err := s.enter(ctx); err != nil {
		return driver.Chunk{}, err
	}
	defer s.leave()
	v, err := s.view(t)
	if err != nil {
		return driver.Chunk{}, err
	}
	return s.walk(ctx, v, from)
}

func (s *Store) walk(ctx context.Context, v *view, from string) (chunk driver.Chunk, err error) {
	state, ok := v.parseMark(from)
	if !ok {
		return chunk, errMark(v)
	}
	text := "SELECT * FROM " + v.table + ` WHERE "_sort" >= ? AND "_sort" < ? ALLOW FILTERING`
	q := s.query(s.level, text, v.head, driver.After(v.head))
	answer, err := s.ask(ctx, "walk "+v.name, q.PageSize(backend.ChunkRows).PageState(state))
	if code := codeOf(err); from != "" && (code == gocql.ErrCodeProtocol || code == gocql.ErrCodeInvalid || code == gocql.ErrCodeServer) {
		return chunk, errMark(v)
	}
	if err != nil {
		return chunk, err
	}
	r := s.newReader(v, nil, answer, "")
	for r.next() {
		var row driver.Row
		partition, ok := v.partitionOf(r.parts)
		if !ok {
			return driver.Chunk{}, r.bad(v.parts[0].Name)
		}
		if err := r.keyed(ctx, &row, partition); err != nil {
			return driver.Chunk{}, err
		}
		chunk.Rows = append(chunk.Rows, row)
	}
	if err := answer.Close(); err != nil {
		return driver.Chunk{}, s.failed(ctx, "walk "+v.name, err)
	}
	chunk.Mark = v.mark(answer.PageState())
	return chunk, nil
}

func errMark(v *view) error {
	return who.OtherMark(v.name)
}

// mark returns that of a walk that goes on with a state of the server.
func (v *view) mark(state []byte) string {
	if len(state) == 0 {
		return ""
	}
	text := append([]byte(v.name+"/"), state...)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text)))
}

// parseMark returns the state with which a walk goes on. One that was not made here is
// not shown to the server.
func (v *view) parseMark(text string) (state []byte, ok bool) {
	if text == "" {
		return nil, true
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 4 {
		return nil, false
	}
	body, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
	name, rest, ok := strings.Cut(string(body), "/")
	return []byte(rest), ok && name == v.name && rest != "" && crc32.ChecksumIEEE(body) == sum
}
