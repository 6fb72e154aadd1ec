package wire

import (
	"errors"
	"strconv"
	"strings"
	"unsafe"

	goredis "github.com/redis/go-redis/v9"
)

// A Reply is read from the front of what the server sent, in either version of
// its protocol. Reading costs no allocation: texts are slices of the reply, which
// nobody changes. A reply that go-redis has read whole is well formed; what is not
// as expected is bad, and then all that follows is empty.
type Reply struct {
	Rest string
	Bad  bool
}

// ReplyOf returns the reply to a command that was done without an error.
func ReplyOf(cmd *goredis.RawCmd) Reply {
	b := cmd.Val()
	return Reply{Rest: unsafe.String(unsafe.SliceData(b), len(b))}
}

// line reads the first byte and the rest of a line.
func (r *Reply) line() (kind byte, text string) {
	end := strings.IndexByte(r.Rest, '\r')
	if end < 1 || end+1 >= len(r.Rest) || r.Rest[end+1] != '\n' {
		r.Bad, r.Rest = true, ""
		return 0, ""
	}
	kind, text, r.Rest = r.Rest[0], r.Rest[1:end], r.Rest[end+2:]
	return kind, text
}

// Text reads a string, a number or nothing, which is not ok.
func (r *Reply) Text() (s string, ok bool) {
	if s, ok = r.short(); ok {
		return s, true
	}
	kind, line := r.line()
	switch kind {
	case '+', ':', ',', '#', '(':
		return line, true
	case '_':
		return "", false
	case '$', '=':
		n, err := strconv.Atoi(line)
		if err == nil && n < 0 {
			return "", false
		}
		if err == nil && n+2 <= len(r.Rest) {
			s, r.Rest = r.Rest[:n], r.Rest[n+2:]
			return s, true
		}
	case '*':
		if line == "-1" {
			return "", false
		}
	}
	r.Bad, r.Rest = true, ""
	return "", false
}

// short reads a string of less than a hundred bytes, as most of them are, and
// nothing if there is none.
func (r *Reply) short() (s string, ok bool) {
	b := r.Rest
	if len(b) < 6 || b[0] != '$' {
		return "", false
	}
	n, at := int(b[1])-'0', 2
	if b[2] != '\r' {
		n, at = 10*n+int(b[2])-'0', 3
	}
	if b[1] < '0' || b[1] > '9' || at == 3 && (b[2] < '0' || b[2] > '9') || b[at:at+2] != "\r\n" || len(b) < at+n+4 {
		return "", false
	}
	at += 2
	r.Rest = b[at+n+2:]
	return b[at : at+n], true
}

// List reads how many elements follow; pairs count twice.
func (r *Reply) List() int {
	kind, line := r.line()
	n, err := strconv.Atoi(line)
	switch {
	case err == nil && (kind == '*' || kind == '~') && n >= 0:
		return n
	case err == nil && kind == '%' && n >= 0:
		return 2 * n
	}
	r.Bad, r.Rest = true, ""
	return 0
}

// Texts reads a list of texts, or the names and texts of a hash.
func (r *Reply) Texts() []string {
	list := make([]string, r.List())
	for i := range list {
		list[i], _ = r.Text()
	}
	return list
}

// Number reads an integer.
func (r *Reply) Number() int64 {
	s, _ := r.Text()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		r.Bad, r.Rest = true, ""
	}
	return n
}

// AsksPut reports whether a script answered that put is to be asked.
func (r *Reply) AsksPut() bool { return r.Rest == "*1\r\n:-2\r\n" }

// Refused returns the error with which the server answered, if it did.
func (r *Reply) Refused() error {
	if r.Rest == "" || r.Rest[0] != '-' && r.Rest[0] != '!' {
		return nil
	}
	text, _, _ := strings.Cut(r.Rest[1:], "\r\n")
	if r.Rest[0] == '!' {
		_, text, _ = strings.Cut(r.Rest, "\r\n")
		text = strings.TrimSuffix(text, "\r\n")
	}
	return ServerError(text)
}

// A ServerError is an error that the server answered: it did not do what it was
// asked to.
type ServerError string

func (e ServerError) Error() string { return "the server says: " + string(e) }

// CodeOf returns the first word of an error that the server answered, "" of any
// other.
func CodeOf(err error) string {
	text, ok := Answered(err)
	if !ok {
		return ""
	}
	code, _, _ := strings.Cut(text, " ")
	return code
}

// Answered returns the text of an error that the server answered.
func Answered(err error) (string, bool) {
	if e, ok := errors.AsType[ServerError](err); ok {
		return string(e), true
	}
	if e, ok := errors.AsType[goredis.Error](err); ok {
		return e.Error(), true
	}
	return "", false
}

// A Hash is the fields of a record as the server tells them: each name is followed by
// its text.
type Hash []string

// Len returns how many fields there are.
func (h Hash) Len() int { return len(h) / 2 }

// All is the fields in the server's order.
func (h Hash) All(yield func(name, text string) bool) {
	for i := 0; i+1 < len(h) && yield(h[i], h[i+1]); i += 2 {
	}
}
