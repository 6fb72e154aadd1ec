package catalog

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
)

// where says where the records lie.
func (e *Entry) where() string {
	if e.With == "" {
		return "by themselves"
	}
	return "with collection " + e.With
}

// MayJoin says what keeps c from lying with the collection of e, its With; e is nil if there is none.
func (e *Entry) MayJoin(c *layout.Layout) error {
	wrong := ""
	switch {
	case e == nil || e.Making:
		wrong = "which is not in the store; open that one first"
	case e.Dropping:
		wrong = "which is being dropped"
	case e.With != "":
		wrong = fmt.Sprintf("which lies with %s itself; name that one", e.With)
	case !slices.Equal(e.Partition, EntryOf(c).Partition):
		wrong = fmt.Sprintf("whose partition is %s and not %s", columnsText(e.Partition), columnsText(EntryOf(c).Partition))
	default:
		return nil
	}
	return fmt.Errorf("the collection is to lie with %s, %s: %w", c.With(), wrong, driver.ErrSchema)
}

func columnsText(cols []catalogColumn) string { return keyText(&Entry{Partition: cols}) }
