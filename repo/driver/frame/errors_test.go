package frame

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

const who = Name("store")

func TestErrors(t *testing.T) {
	cause := context.Canceled
	over, cancel := context.WithCancel(t.Context())
	cancel()
	full := Failure{Doing: "get", Addr: "host", Kind: driver.ErrFull}
	remedied := full
	remedied.Remedy = "make room"
	for _, tt := range []struct {
		err  error
		want string
		kind error
	}{
		{who.Invalid("a %d", 1), "store: a 1: invalid", driver.ErrInvalid},
		{who.Schema("a %d", 1), "store: a 1: schema does not fit", driver.ErrSchema},
		{who.Unsupported("a %d", 1), "store: a 1: not supported", driver.ErrUnsupported},
		{who.Corrupt("a %d", 1), "store: a 1: stored data is corrupt", driver.ErrCorrupt},
		{who.TooLarge("a %d", 1), "store: a 1: too large", driver.ErrTooLarge},
		{who.Wrap(io.EOF), "store: EOF", io.EOF},
		{who.Ended(cause), "store: timeout: context canceled", cause},
		{who.Failed(full, io.EOF), "store: get: host: no space left: EOF", driver.ErrFull},
		{who.Failed(remedied, io.EOF), "store: get: host: no space left: EOF; make room", io.EOF},
		{who.Late("get", "host", cause), "store: get: host: timeout: context canceled", driver.ErrTimeout},
		{who.Unknown(t.Context(), "host", io.EOF), "store: commit: host: unknown outcome: EOF", driver.ErrUnknownOutcome},
		{who.Unknown(over, "host", io.EOF), "store: commit: host: unknown outcome: context canceled: EOF", cause},
		{who.OtherMark("t"), "store: walk t: the mark is not one of this table: invalid", driver.ErrInvalid},
		{who.NoTable("attach", &driver.Table{Name: "t"}), "store: attach t: there is no such table; define it first: schema does not fit", driver.ErrSchema},
		{who.NoField("attach", &driver.Table{Name: "t"}, "f"), "store: attach t: there is no field f; define the table first: schema does not fit", driver.ErrSchema},
		{who.Earlier(&driver.Table{Name: "t"}, 1, 2), "store: table t has layout 1, this program knows 2; open it with the release that wrote it and copy the records: schema does not fit", driver.ErrSchema},
		{who.Later(&driver.Table{Name: "t"}, 3, 1), "store: table t has layout 3, this program knows 1; open it with a later release: schema does not fit", driver.ErrSchema},
	} {
		if tt.err.Error() != tt.want || !errors.Is(tt.err, tt.kind) {
			t.Errorf("%v, want %s that is %v", tt.err, tt.want, tt.kind)
		}
	}
	if who.Wrap(nil) != nil || who.Ended(nil) != nil {
		t.Error("nothing became an error")
	}
}

func TestOver(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for ctx, want := range map[context.Context]error{t.Context(): nil, canceled: context.Canceled, late: context.DeadlineExceeded} {
		if err := Over(ctx); !errors.Is(err, want) {
			t.Errorf("over: %v, want %v", err, want)
		}
		begun := time.Now()
		if err := Sleep(ctx, 20*time.Millisecond); !errors.Is(err, want) || want == nil && time.Since(begun) < 20*time.Millisecond {
			t.Errorf("slept %s: %v, want %v", time.Since(begun), err, want)
		}
	}
}
