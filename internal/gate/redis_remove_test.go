package gate_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// A record does not die in part where one of the sets that it leaves, or the list of
// names, is another program's.
func TestRedisRemoveFailsBeforeItWrites(t *testing.T) {
	t.Parallel()
	_, s := ownRedis(t)
	sets := "if call('ZCARD', KEYS[i]) < #KEYS then few[#few + 1] = KEYS[i] end"
	list := "if few[1] or ARGV[4] == '0' then call('ZCARD', all) end"
	for _, tt := range []struct {
		foreign, look string
		left          string
		first         bool // it is the first to be written
	}{
		{"own:posts.by_at:{ann#}", sets, "live, 2 sets", false}, {"own:posts.slug:{ann#}", sets, "live, 2 sets", false},
		{"own:posts:{ann#}", sets, "live, 2 sets", true}, {"own:_keys", list, "live, 3 sets", false},
	} {
		left, err := s.leftOfADeath(t, tt.foreign, s.statements)
		if left != tt.left || err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%s is a string: %s, %v, want %s and WRONGTYPE", tt.foreign, left, err, tt.left)
		}
		left, _ = s.leftOfADeath(t, tt.foreign, s.spoil(t, "redis/remove", tt.look, ""))
		if (left == tt.left) != tt.first {
			t.Errorf("%s is a string, and is not looked at before: %s", tt.foreign, left)
		}
	}
}

// leftOfADeath inserts a record with two rows, gives one of its sets to another
// program, and says what a death has left of the rest.
func (s *redisStore) leftOfADeath(t *testing.T, foreign string, design statements) (left string, err error) {
	t.Helper()
	ctx := t.Context()
	if err := s.client.FlushDB(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	tables := newTables()
	k, row, claim := tables.post("ann", "1"), tables.entry("ann", 1, "1"), tables.claim("ann", "first")
	born := driver.NewToken()
	birth := s.insertScript(born, []driver.Op{
		{Do: driver.Put, Table: tables.posts, Row: driver.Row{Key: k, Fields: titled("t")}, If: driver.Absent},
		{Do: driver.Put, Table: tables.byAt, Row: driver.Row{Key: row}},
		{Do: driver.Put, Table: tables.slug, Row: driver.Row{Key: claim}}})
	if _, err := s.run(ctx, &birth); err != nil {
		t.Fatal(err)
	}
	if n := s.client.Exists(ctx, foreign).Val(); n != 1 {
		t.Fatalf("there is no set %s", foreign)
	}
	if err := s.client.Set(ctx, foreign, "theirs", 0).Err(); err != nil {
		t.Fatal(err)
	}
	spoilt := s.with(design)
	death := spoilt.removeScript(driver.NewToken(), []driver.Op{
		{Do: driver.Put, Table: tables.posts, Row: driver.Row{Key: k, Dead: true, Expires: 99, Ring: []driver.Token{born}}, If: driver.AtRev, Rev: born},
		{Do: driver.Delete, Table: tables.byAt, Row: driver.Row{Key: row}},
		{Do: driver.Delete, Table: tables.slug, Row: driver.Row{Key: claim}}})
	_, err = spoilt.run(ctx, &death)
	left = "live"
	if s.client.HExists(ctx, s.key(tables.posts, k), "_dead").Val() {
		left = "dead"
	}
	sets := 0
	for _, set := range []string{s.key(tables.byAt, row), s.key(tables.slug, claim), s.order(tables.posts, k.Partition)} {
		if s.client.ZCard(ctx, set).Val() == 1 {
			sets++
		}
	}
	return left + ", " + strconv.Itoa(sets) + " sets", err
}
