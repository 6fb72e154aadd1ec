package mongo

import (
	"context"
	"slices"
	"time"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver/frame"
)

const (
	aloneTime  = time.Second     // how long others wait behind a command that needs a collection to itself
	alonePause = time.Second     // in which others go on
	aloneLong  = 2 * time.Minute // the server ends a transaction that nobody goes on with after one minute and a half
	buildTime  = 24 * time.Hour  // of an index, if the context has no deadline
)

// alone sends a command that waits until nobody else uses a collection, while all others wait behind it. The transaction
// of a program that was killed in it is open for a minute. So the command is given up soon, and sent again when others
// have gone on. A code may say that it is done.
func (c *conn) alone(ctx context.Context, doing string, w *bson.Writer, done ...int) error {
	cmd := durable(w)
	var err error
	_, failed := who.Until(ctx, aloneLong, alonePause, func() (bool, error) {
		some, stop := context.WithTimeout(ctx, aloneTime)
		defer stop()
		err = c.insist(some, cmd, codeWriteConflict, 5*time.Millisecond)
		code := codeOf(err)
		switch {
		case code != 0 && slices.Contains(done, code):
			err = nil
		case code == codeTimeLimit && frame.Over(ctx) == nil:
			return false, nil
		case code == 0 && mongodriver.IsTimeout(err) && frame.Over(ctx) == nil: // is anybody there?
			hello := order("hello")
			_, err := c.ask(ctx, doing, "admin", hello.End())
			return false, err
		}
		return true, nil
	})
	if failed != nil {
		return failed
	}
	return c.failed(ctx, doing, err)
}

// free waits until a command that cannot be given up soon, as one that builds an index, would get a collection to itself:
// another one, that does nothing, has got it.
func (c *conn) free(ctx context.Context, doing, collection string) error {
	w := command("dropIndexes", collection)
	w.Text("index", "polystore: none")
	return c.alone(ctx, doing, &w, codeNoIndex, codeNoNamespace)
}

// building returns a context for what takes as long as a collection is large. Without a deadline of its caller it has a
// late one, since the client would take its timeout for one.
func building(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, buildTime)
}
