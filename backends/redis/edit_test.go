package redis_test

import (
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/redis"
)

// The script edit changes nothing where a set that a row leaves, or comes to, or the list of
// the sets, is another program's.
func TestEditFailsBeforeItWrites(t *testing.T) {
	t.Parallel()
	server, _, _ := own(t)
	admin := raw(t, server.Addr)
	careful := redis.Texts["redis/edit"]
	careless := strings.Replace(careful, "call('ZCARD', KEYS[i])", "0", 1)
	if careless == careful {
		t.Fatal("there is no check to leave out")
	}
	const before, after = "0123456789abcdef", "fedcba9876543210"
	edit := func(text, foreign string) (whole bool) {
		do(t, admin, "FLUSHDB")
		do(t, admin, "HSET", "row", "_rev", before, "_ring", before, "title", "old")
		do(t, admin, "ZADD", "from", 0, "member")
		do(t, admin, "DEL", foreign)
		do(t, admin, "SET", foreign, "theirs")
		err := admin.Do(t.Context(), "EVAL", text, 4, "row", "all", "from", "to", after+before, before, 1, 0, "member", "member", "title", "new").Err()
		if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%s is a string: %v, want WRONGTYPE", foreign, err)
		}
		left := foreign == "from" || do(t, admin, "ZCARD", "from") == int64(1)
		return left && do(t, admin, "HGET", "row", "title") == "old"
	}
	for _, foreign := range []string{"from", "to", "all"} {
		if !edit(careful, foreign) {
			t.Errorf("%s is a string, and the script wrote something", foreign)
		}
	}
	if edit(careless, "to") {
		t.Error("control: without its check the script wrote nothing either")
	}
}
