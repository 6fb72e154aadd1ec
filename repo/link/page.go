package link

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/polystore/polystore/repo"
)

// A Page is a part of the members of a [Set], in the order of their IDs.
type Page struct {
	Items []repo.Key // as [repo.Repo.GetMany] takes them where the ID is the key
	Next  string     // cursor of the page after this one, "" at the end
}

const defaultPage = 50

// Page returns the page of the set that a cursor names; "" names the first page. The limit is the size of the page, 50 if
// there is none. Pages go forwards only. A cursor is the position after a member: while links come and go, a member that
// stays is shown once. A page costs no more far out than at the beginning.
//
// A cursor holds an ID, and is not signed: who forges one begins elsewhere in the same set. A damaged cursor, or the
// cursor of another set, is ErrCursor. Items of a page without members is empty, not nil.
func (s Set) Page(ctx context.Context, cursor string) (Page, error) {
	page := Page{Items: []repo.Key{}}
	above, err := s.position(cursor)
	if err == nil {
		if s.limit == 0 {
			s.limit = defaultPage
		}
		err = s.fill(ctx, above, &page)
	}
	if err != nil {
		return Page{Items: []repo.Key{}}, s.links.failed(err)
	}
	return page, nil
}

func (s Set) fill(ctx context.Context, above *id, page *Page) error {
	var last id
	for member, err := range s.members(ctx, above) {
		if err != nil {
			return err
		}
		if len(page.Items) == s.limit {
			page.Next = s.cursor(last)
			return nil
		}
		page.Items, last = append(page.Items, repo.Key{member.value()}), member
	}
	return nil
}

// sumBytes is how many bytes of a cursor are a hash, which ties it to its set.
const sumBytes = 8

func (s Set) cursor(last id) string {
	b := last.appendTo(nil)
	return base64.RawURLEncoding.EncodeToString(append(s.sum(b), b...))
}

// position returns the id after which a page begins, nil for the first page.
func (s Set) position(cursor string) (*id, error) {
	if cursor == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err == nil && len(b) > sumBytes && s.links != nil && string(b[:sumBytes]) == string(s.sum(b[sumBytes:])) {
		if last, ok := parseID(b[sumBytes:]); ok {
			return &last, nil
		}
	}
	return nil, fmt.Errorf("the cursor is damaged, or belongs to another set; begin again without one: %w: %w", repo.ErrCursor, repo.ErrInvalid)
}

// parseID is the reverse of appendTo.
func parseID(b []byte) (id, bool) {
	switch kind, rest := b[0], b[1:]; {
	case kind == 'i' && len(rest) == 8:
		return id{n: int64(binary.BigEndian.Uint64(rest))}, true
	case kind == 's':
		n, used := binary.Uvarint(rest)
		if used > 0 && n == uint64(len(rest)-used) {
			return id{isText: true, text: string(rest[used:])}, true
		}
	}
	return id{}, false
}

func (s Set) sum(b []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %x", s.String(), b)
	return h.Sum(nil)[:sumBytes]
}
