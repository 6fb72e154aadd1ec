package mongo

import (
	"context"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// dropNulls removes what other programs wrote for a field that is absent, where a patch
// of c cannot change it: a null is read as nothing, but is no number to add to, no ring
// and no document. Nobody who reads sees a difference.
func (c *commit) dropNulls(ctx context.Context) error {
	for i := range c.ops {
		op, v := &c.ops[i], c.views[i]
		paths := v.needsNoNull(op)
		if len(paths) == 0 {
			continue
		}
		st := v.statement("update", &c.token)
		for _, path := range paths {
			st.remove(idOf(&op.Row.Key), true, path)
		}
		if err := st.end(); err != nil {
			return err
		}
		if _, err := c.store.conn.write(ctx, durable(&st.w)); err != nil {
			return c.store.conn.failed(ctx, "commit", err)
		}
	}
	return nil
}

// needsNoNull returns where a null is in the way of an op.
func (v *view) needsNoNull(op *driver.Op) (paths []string) {
	if op.Do != driver.Patch {
		return nil
	}
	if v.Ring > 0 {
		paths = append(paths, "_ring")
	}
	for i := range op.Edits {
		e := &op.Edits[i]
		path := v.path(e)
		if strings.HasPrefix(path, "_extra.") {
			paths = append(paths, "_extra")
		}
		if e.Do == driver.Add {
			paths = append(paths, path)
		}
	}
	return paths
}
