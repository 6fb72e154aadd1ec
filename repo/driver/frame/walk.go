package frame

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// ChunkRows is how many rows a chunk of a walk has at most.
const ChunkRows = 256

// walk yields chunks as read returns them, each read from the mark of the one before,
// until one has none. The error of one is its last, unless it is a driver.Unread.
func walk(from string, read func(from string) (driver.Chunk, error)) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		for mark := from; ; {
			chunk, err := read(mark)
			_, goesOn := errors.AsType[driver.Unread](err)
			if err != nil && !goesOn {
				yield(driver.Chunk{}, err)
				return
			}
			if (len(chunk.Rows) > 0 || goesOn) && !yield(chunk, err) || chunk.Mark == "" {
				return
			}
			mark = chunk.Mark
		}
	}
}

// A Chunk is one of a walk, as far as it was read: rows, and why others could not be.
type Chunk struct {
	driver.Chunk
	Unread driver.Unread
}

// Take adds a row or, if it cannot be read, why. It returns any other error than ErrCorrupt.
func (c *Chunk) Take(row *driver.Row, err error) error {
	switch {
	case err == nil:
		c.Rows = append(c.Rows, *row)
	case errors.Is(err, driver.ErrCorrupt):
		c.Unread = append(c.Unread, err)
	default:
		return err
	}
	return nil
}

// Len returns how many rows were read, or could not be.
func (c *Chunk) Len() int { return len(c.Rows) + len(c.Unread) }

// Mark returns the mark of a walk of a table that goes on at a place, whatever that is. It has
// a checksum, by which one that was damaged is known.
func Mark(table, place string) string {
	text := []byte(table + "/" + place)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text)))
}

// ParseMark returns the place of a mark that Mark made for the table, "" of none.
func ParseMark(table, mark string) (place string, ok bool) {
	if mark == "" {
		return "", true
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(mark)
	if err != nil || len(raw) < crc32.Size {
		return "", false
	}
	text, sum := raw[:len(raw)-crc32.Size], binary.BigEndian.Uint32(raw[len(raw)-crc32.Size:])
	if crc32.ChecksumIEEE(text) != sum {
		return "", false
	}
	return strings.CutPrefix(string(text), table+"/")
}

// OtherMark is the error of a walk with a mark that is not one of the table.
func (n Name) OtherMark(table string) error {
	return n.Invalid("walk %s: the mark is not one of this table", table)
}
