package redis

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// mostInserts is how many scripts a table has for inserts. Rows with other fields than
// those go by the script put.
const mostInserts = 16

// inserts are the scripts for rows of one table, by the fields that these have. Each has
// their names, so that no call tells them.
type inserts struct {
	mu sync.Mutex
	of atomic.Pointer[map[uint64]*wire.Script]
}

// insertOf returns the script that inserts a record with the fields of row, or nil.
func (v *view) insertOf(row *driver.Row) *wire.Script {
	if len(row.Fields) > 62 {
		return nil
	}
	has := uint64(0)
	for i, value := range row.Fields {
		if !value.IsNone() {
			has |= 1 << i
		}
	}
	if row.Expires != 0 {
		has |= 1 << 63
	}
	if m := v.inserts.of.Load(); m != nil && (*m)[has] != nil {
		return (*m)[has]
	}
	return v.addInsert(has)
}

func (v *view) addInsert(has uint64) *wire.Script {
	v.inserts.mu.Lock()
	defer v.inserts.mu.Unlock()
	m := map[uint64]*wire.Script{}
	if old := v.inserts.of.Load(); old != nil {
		m = maps.Clone(*old)
	}
	if m[has] == nil && len(m) < mostInserts {
		m[has] = v.newInsert(has)
		v.inserts.of.Store(&m)
	}
	return m[has]
}

// newInsert makes the script for the fields whose bits are set, and the expiry if the
// last one is.
func (v *view) newInsert(has uint64) *wire.Script {
	var names []string
	if has>>63 == 1 {
		names = append(names, "_expires")
	}
	for i := range v.Fields {
		if has>>i&1 == 1 {
			names = append(names, v.Fields[i].Name)
		}
	}
	fields := ""
	for i, name := range names {
		fields += ", " + quoteLua(name) + ", ARGV[" + itoa(i+2) + "]"
	}
	text := strings.NewReplacer("<own>", itoa(len(names)+1), "<fields>", fields).Replace(insertText)
	sc := wire.NewScript(spanText, text)
	sc.Inserts = true
	return sc
}

// quoteLua returns a text as Lua has it in a program.
func quoteLua(s string) string {
	b := []byte{'\''}
	for i := range len(s) {
		if c := s[i]; c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "\\%03d", c)
		}
	}
	return string(append(b, '\''))
}
