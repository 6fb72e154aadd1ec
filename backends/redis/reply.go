package redis

import (
	"strconv"
	"strings"
	"unsafe"

	goredis "github.com/redis/go-redis/v9"
)

// A reply is read from the front of what the server sent, in either version of
// its protocol. Reading costs no allocation: texts are slices of the reply, which
// nobody changes. A reply that go-redis has read whole is well formed; what is not
// as expected is bad, and then all that follows is empty.
type reply struct {
	rest string
	bad  bool
}

// replyOf returns the reply to a command that was done without an error.
func replyOf(cmd *goredis.RawCmd) reply {
	b := cmd.Val()
	return reply{rest: unsafe.String(unsafe.SliceData(b), len(b))}
}

// line reads the first byte and the rest of a line.
func (r *reply) line() (kind byte, text string) {
	end := strings.IndexByte(r.rest, '\r')
	if end < 1 || end+1 >= len(r.rest) || r.rest[end+1] != '\n' {
		r.bad, r.rest = true, ""
		return 0, ""
	}
	kind, text, r.rest = r.rest[0], r.rest[1:end], r.rest[end+2:]
	return kind, text
}

// text reads a string, a number or nothing, which is not ok.
func (r *reply) text() (s string, ok bool) {
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
		if err == nil && n+2 <= len(r.rest) {
			s, r.rest = r.rest[:n], r.rest[n+2:]
			return s, true
		}
	case '*':
		if line == "-1" {
			return "", false
		}
	}
	r.bad, r.rest = true, ""
	return "", false
}

// short reads a string of less than a hundred bytes, as most of them are, and
// nothing if there is none.
func (r *reply) short() (s string, ok bool) {
	b := r.rest
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
	r.rest = b[at+n+2:]
	return b[at : at+n], true
}

// list reads how many elements follow; pairs count twice.
func (r *reply) list() int {
	kind, line := r.line()
	n, err := strconv.Atoi(line)
	switch {
	case err == nil && (kind == '*' || kind == '~') && n >= 0:
		return n
	case err == nil && kind == '%' && n >= 0:
		return 2 * n
	}
	r.bad, r.rest = true, ""
	return 0
}

// hash reads a list of names and texts.
func (r *reply) hash() hash {
	h := make(hash, r.list())
	for i := range h {
		h[i], _ = r.text()
	}
	return h
}

// number reads an integer.
func (r *reply) number() int64 {
	s, _ := r.text()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		r.bad, r.rest = true, ""
	}
	return n
}

// asksPut reports whether a script answered that put is to be asked.
func (r *reply) asksPut() bool { return r.rest == "*1\r\n:-2\r\n" }

// refused returns the error with which the server answered, if it did.
func (r *reply) refused() error {
	if r.rest == "" || r.rest[0] != '-' && r.rest[0] != '!' {
		return nil
	}
	text, _, _ := strings.Cut(r.rest[1:], "\r\n")
	if r.rest[0] == '!' {
		_, text, _ = strings.Cut(r.rest, "\r\n")
		text = strings.TrimSuffix(text, "\r\n")
	}
	return serverError(text)
}

// A serverError is an error that the server answered: it did not do what it was
// asked to.
type serverError string

func (e serverError) Error() string { return "the server says: " + string(e) }
