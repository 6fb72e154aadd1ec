package redis_test

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/redis"
)

// Texts of all lengths are read, and what is cut off is never taken for one.
func TestTextsOfAReply(t *testing.T) {
	t.Parallel()
	for n := range 300 {
		text := strings.Repeat("\r", n/3) + strings.Repeat("$", n-n/3)
		whole := "$" + strconv.Itoa(n) + "\r\n" + text + "\r\n"
		if got := redis.TextsOf(whole + whole + ":7\r\n$-1\r\n"); len(got) != 4 || got[0] != text || got[1] != text || got[2] != "7" || got[3] != "nothing" {
			t.Fatalf("two texts of %d bytes, a number and nothing are read as %q", n, got)
		}
		for cut := range len(whole) {
			if got := redis.TextsOf(whole[:cut]); len(got) > 0 && got[0] != "bad" {
				t.Fatalf("%q is read as %q", whole[:cut], got)
			}
		}
	}
	for _, odd := range []string{"$x\r\nab\r\n", "$1x\r\nab\r\n", "$:\r\nab\r\n", "$\r\n\r\nab", "$5\rhello\r\n", "$5\rxhello\r\n", "?5\r\n"} {
		if got := redis.TextsOf(odd); got[0] != "bad" {
			t.Errorf("%q is read as %q", odd, got)
		}
	}
}

// A commit that a server of a cluster refused, and that got no answer when it was sent again,
// may be done: the answer to the first sending says nothing of the second.
func TestRefusalOfAnEarlierSending(t *testing.T) {
	const answer = "-CLUSTERDOWN The cluster is down\r\n"
	if err := redis.RefusedWrite(answer, nil); err == nil {
		t.Error("an answer that refuses is no refusal")
	}
	if err := redis.RefusedWrite(answer, io.ErrUnexpectedEOF); err != nil {
		t.Errorf("no answer, and yet refused: %v", err)
	}
}
