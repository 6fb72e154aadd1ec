package nested_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/nested"
)

// rowCounter counts the index rows that commits name.
type rowCounter struct {
	driver.Store
	rows int
}

func (s *rowCounter) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	for _, op := range ops {
		if strings.Contains(op.Table.Name, ".nested_") {
			s.rows++
		}
	}
	return s.Store.Commit(ctx, token, ops)
}

// The rows that writes of a record with ten sub-objects of two fields cost, as docs/howto/nested.md has them.
func TestRowsWritten(t *testing.T) {
	steps := []struct {
		name                string
		change              func(p *person)
		proximity, numbered int
	}{
		{"insert", nil, 20, 20},
		{"change another field", func(p *person) { p.Name = "x" }, 0, 0},
		{"append", func(p *person) { p.Skills = append(p.Skills, skill{Skill: "s10", Level: "l10"}) }, 22, 2},
		{"change a value", func(p *person) { p.Skills[4].Level = "new" }, 23, 2},
		{"insert in front", func(p *person) { p.Skills = slices.Insert(p.Skills, 0, skill{Skill: "front", Level: "front"}) }, 24, 46},
	}
	for name, way := range ways {
		way.Numbers, way.Fields = way.Numbers*2, []string{"skill", "level"}
		store := &rowCounter{Store: memory.New(nil)}
		c := open[person](t, repo.NewStore(store, nil), way)
		p := person{ID: "ann"}
		for i := range 10 {
			p.Skills = append(p.Skills, skill{Skill: fmt.Sprint("s", i), Level: fmt.Sprint("l", i)})
		}
		for _, step := range steps {
			store.rows = 0
			if step.change == nil {
				insert(t, c, p)
			} else {
				update(t, c, "ann", step.change)
			}
			wanted := step.proximity
			if way.Strategy == nested.Numbered {
				wanted = step.numbered
			}
			if store.rows != wanted {
				t.Errorf("%s, %s: %d rows, want %d", name, step.name, store.rows, wanted)
			}
		}
	}
}
