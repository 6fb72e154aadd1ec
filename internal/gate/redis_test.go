package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
	goredis "github.com/redis/go-redis/v9"
)

// A redisStore sends the statements of the design to Redis.
type redisStore struct {
	statements
	client  *goredis.Client
	prefix  string
	cluster bool
}

func dialRedis(t testing.TB, url string) *goredis.Client {
	t.Helper()
	opts, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	opts.MaxRetries, opts.ContextTimeoutEnabled, opts.Protocol = -1, true, 2
	c := goredis.NewClient(opts)
	t.Cleanup(func() { c.Close() })
	return c
}

// newRedis returns stores whose names begin with a prefix, and removes these at the
// end of the test.
func newRedis(t testing.TB, client *goredis.Client) func(statements) store {
	prefix := "gate" + driver.NewToken().String() + ":"
	s := &redisStore{statements: readDesign(t), client: client, prefix: prefix}
	t.Cleanup(func() {
		if n, err := s.drop(context.Background()); err != nil || n == 0 {
			t.Errorf("removed %d keys: %v", n, err)
		}
	})
	return func(design statements) store {
		other := s.with(design)
		other.prefix += driver.NewToken().String() + ":"
		return other
	}
}

// with returns a store that sends other statements.
func (s *redisStore) with(design statements) *redisStore {
	other := *s
	other.statements = design
	return &other
}

// drop removes all that lies under the prefix.
func (s *redisStore) drop(ctx context.Context) (n int64, err error) {
	keys := s.client.Scan(ctx, 0, s.prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		gone, err := s.send(ctx, "redis/drop", map[string]any{"keys": []string{keys.Val()}})
		if err != nil {
			return n, err
		}
		n += gone.(int64)
	}
	return n, keys.Err()
}

func (s *redisStore) send(ctx context.Context, label string, params map[string]any) (any, error) {
	words, err := s.words(label, params)
	if err != nil {
		return nil, err
	}
	v, err := s.client.Do(ctx, words...).Result()
	if errors.Is(err, goredis.Nil) {
		return nil, nil
	}
	return v, err
}

// key returns the name of the row of a record, or of the set of a partition.
func (s *redisStore) key(t *driver.Table, k driver.Key) string {
	name := s.prefix + t.Name + ":{" + k.Partition + "}"
	if t.Class == driver.Records {
		name += k.Sort
	}
	return name
}

// list returns the name of the list that has the names of a partition: of the only one or,
// in a cluster, of that in the partition's slot.
func (s *redisStore) list(partition string) string {
	if !s.cluster {
		return s.prefix + "_keys"
	}
	n := 0
	for slotOf(strconv.Itoa(n)) != slotOf(partition) {
		n++
	}
	return s.prefix + "_keys{" + strconv.Itoa(n) + "}"
}

// slotOf returns the slot of a cluster in which a text in braces lies.
func slotOf(text string) uint16 {
	crc := uint16(0)
	for i := range len(text) {
		crc ^= uint16(text[i]) << 8
		for range 8 {
			crc = crc<<1 ^ crc>>15*0x1021
		}
	}
	return crc % 16384
}

func (s *redisStore) order(t *driver.Table, partition string) string {
	return s.prefix + t.Name + ":{" + partition + "}"
}

// bound returns the end of a span; no text of a key begins with its stand-in.
func bound(to string) string {
	if to == "" {
		return "\xff"
	}
	return to
}

func (s *redisStore) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	for i, k := range keys {
		row, err := s.row(ctx, t, k, mask)
		if err != nil {
			return err
		}
		rows[i] = row
	}
	return nil
}

func (s *redisStore) row(ctx context.Context, t *driver.Table, k driver.Key, mask []int) (driver.Row, error) {
	if t.Class != driver.Records {
		v, err := s.send(ctx, "redis/get-row", map[string]any{"key": s.key(t, k), "sort": k.Sort, "after": bound(driver.After(k.Sort))})
		if err != nil {
			return driver.Row{}, err
		}
		return memberRow(t, k, v, mask)
	}
	if mask == nil {
		v, err := s.send(ctx, "redis/get", map[string]any{"key": s.key(t, k)})
		if err != nil {
			return driver.Row{}, err
		}
		return hashRow(t, k, v)
	}
	var names []string
	for _, f := range mask {
		names = append(names, t.Fields[f].Name)
	}
	v, err := s.send(ctx, "redis/get-some", map[string]any{"key": s.key(t, k), "fields": names})
	if err != nil {
		return driver.Row{}, err
	}
	return someRow(t, k, v.([]any), mask)
}

func (s *redisStore) Range(ctx context.Context, span driver.Span) ([]driver.Row, error) {
	label, limit := "redis/range", span.Limit
	if span.Reverse {
		label = "redis/range-reverse"
	}
	if limit == 0 {
		limit = -1
	}
	v, err := s.send(ctx, label, map[string]any{"key": s.order(span.Table, span.Key.Partition),
		"from": span.From, "to": bound(span.To), "limit": limit})
	if err != nil {
		return nil, err
	}
	var rows []driver.Row
	for _, m := range v.([]any) {
		k := driver.Key{Partition: span.Key.Partition}
		head, _, ok := driver.CutParts(m.(string), span.Table.Sort)
		if !ok {
			return nil, fmt.Errorf("member %q has no key", m)
		}
		k.Sort = head
		var row driver.Row
		if span.Table.Class == driver.Records {
			row, err = s.row(ctx, span.Table, k, span.Mask)
		} else {
			row, err = memberRow(span.Table, k, []any{m}, span.Mask)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *redisStore) Count(ctx context.Context, span driver.Span) (int, error) {
	v, err := s.send(ctx, "redis/count", map[string]any{"key": s.order(span.Table, span.Key.Partition),
		"from": span.From, "to": bound(span.To)})
	if err != nil {
		return 0, err
	}
	return int(v.(int64)), nil
}

// Walk goes on after a mark, which is a name, one page at most.
func (s *redisStore) Walk(ctx context.Context, t *driver.Table, mark string) ([]driver.Row, string, error) {
	head := s.prefix + t.Name + ":{"
	const limit = 2
	v, err := s.send(ctx, "redis/names", map[string]any{"list": s.list(""), "from": max(mark, head), "to": head + "\xff", "limit": limit})
	if err != nil {
		return nil, "", err
	}
	var rows []driver.Row
	for _, name := range v.([]any) {
		more, err := s.rowsUnder(ctx, t, name.(string))
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, more...)
		mark = name.(string) + "\x00"
	}
	if len(v.([]any)) < limit {
		mark = ""
	}
	return rows, mark, nil
}

// rowsUnder returns the rows of a table to which one listed name leads: those of a set, or
// a dead record.
func (s *redisStore) rowsUnder(ctx context.Context, t *driver.Table, name string) ([]driver.Row, error) {
	tag := strings.TrimPrefix(name, s.prefix+t.Name+":{")
	at := strings.LastIndexByte(tag, '}')
	k := driver.Key{Partition: tag[:at], Sort: tag[at+1:]}
	if t.Class != driver.Records {
		return s.Range(ctx, driver.Span{Table: t, Key: k})
	}
	if k.Sort == "" {
		return s.Range(ctx, driver.Span{Table: t, Key: k})
	}
	row, err := s.row(ctx, t, k, nil)
	return []driver.Row{row}, err
}

// scalar returns the text of a declared field.
func scalar(v driver.Value) string {
	switch v.Kind() {
	case driver.Int, driver.Time:
		return strconv.FormatInt(v.Int(), 10)
	case driver.Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case driver.String, driver.Bytes:
		return v.Str()
	}
	return tagged(v)
}

func unscalar(s string, kind driver.Kind) (driver.Value, error) {
	switch kind {
	case driver.Int:
		n, err := strconv.ParseInt(s, 10, 64)
		return driver.IntValue(n), err
	case driver.Time:
		n, err := strconv.ParseInt(s, 10, 64)
		return driver.TimeValue(n), err
	case driver.Float:
		f, err := strconv.ParseFloat(s, 64)
		return driver.FloatValue(f), err
	case driver.String:
		return driver.StringValue(s), nil
	case driver.Bytes:
		return driver.BytesValue(s), nil
	}
	return untagged(s)
}

// set gives a row one field of its hash. Names of undeclared fields begin with '.'.
func set(row *driver.Row, t *driver.Table, name, value string) error {
	var err error
	switch {
	case name == "_rev":
		copy(row.Rev[:], value)
	case name == "_ring":
		row.Ring = ringOf(value)
	case name == "_dead":
		row.Dead = true
	case name == "_expires":
		row.Expires, err = strconv.ParseInt(value, 10, 64)
	case name == "_note":
		row.Meta = value
	case name[0] == '.':
		p := driver.Pair{Name: name[1:]}
		p.Value, err = untagged(value)
		row.Extra = append(row.Extra, p)
	default:
		i := ordinal(t, name)
		row.Fields[i], err = unscalar(value, t.Fields[i].Kind)
	}
	return err
}

func ordinal(t *driver.Table, name string) int {
	return slices.IndexFunc(t.Fields, func(c driver.Column) bool { return c.Name == name })
}

func ringOf(s string) []driver.Token {
	var ring []driver.Token
	for ; len(s) >= 16; s = s[16:] {
		ring = append(ring, driver.Token([]byte(s[:16])))
	}
	return ring
}

func hashRow(t *driver.Table, k driver.Key, v any) (driver.Row, error) {
	row := driver.Row{Key: k, Fields: make([]driver.Value, len(t.Fields))}
	list, _ := v.([]any)
	for i := 0; i+1 < len(list); i += 2 {
		if err := set(&row, t, list[i].(string), list[i+1].(string)); err != nil {
			return row, err
		}
	}
	return row, nil
}

func someRow(t *driver.Table, k driver.Key, list []any, mask []int) (driver.Row, error) {
	row := driver.Row{Key: k, Fields: make([]driver.Value, len(t.Fields))}
	for i, name := range []string{"_rev", "_dead", "_expires", "_ring", "_note"} {
		if list[i] != nil {
			if err := set(&row, t, name, list[i].(string)); err != nil {
				return row, err
			}
		}
	}
	for i, f := range mask {
		if list[5+i] != nil {
			if err := set(&row, t, t.Fields[f].Name, list[5+i].(string)); err != nil {
				return row, err
			}
		}
	}
	return masked(row, mask), nil
}

// masked returns a row with the fields of a mask only.
func masked(row driver.Row, mask []int) driver.Row {
	if mask == nil {
		return row
	}
	all := row.Fields
	row.Extra, row.Fields = nil, nil
	for _, f := range mask {
		var v driver.Value
		if f < len(all) {
			v = all[f]
		}
		row.Fields = append(row.Fields, v)
	}
	return row
}

// memberRow returns the row of an index that a member of its set says.
func memberRow(t *driver.Table, k driver.Key, v any, mask []int) (driver.Row, error) {
	row := driver.Row{Key: k, Fields: make([]driver.Value, len(t.Fields))}
	list, _ := v.([]any)
	if len(list) == 0 {
		return masked(row, mask), nil
	}
	rest := strings.TrimPrefix(list[0].(string), k.Sort)
	copy(row.Rev[:], rest)
	if rest = rest[16:]; rest == "" {
		return masked(row, mask), nil
	}
	m, err := untagged(rest)
	if err != nil {
		return row, err
	}
	for i := 0; i < len(m.List()); i += 2 {
		name, value := m.List()[i].Str(), m.List()[i+1]
		switch {
		case name == "_expires":
			row.Expires = value.Int()
		case ordinal(t, name) >= 0:
			row.Fields[ordinal(t, name)] = value
		default:
			row.Extra = append(row.Extra, driver.Pair{Name: name, Value: value})
		}
	}
	return masked(row, mask), nil
}
