package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// That the time of a call was over does not hide why it was: nobody listens.
func TestDeadServerIsNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for wait, deadline := range map[string]time.Duration{"60000": 500 * time.Millisecond, "2000": time.Minute} {
		err := backendtest.NamesRefusal(t, deadline, func(ctx context.Context) error {
			_, err := mongo.Open(ctx, "mongodb://"+l.Addr().String()+"/?serverSelectionTimeoutMS="+wait)
			if deadline < time.Second && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("open: %v, want DeadlineExceeded, too", err)
			}
			return err
		})
		if err != nil {
			t.Errorf("open: %v", err)
		}
	}
}

// With local=true no other machine is connected to, whoever names it; mongodb+srv, whose
// hosts DNS tells, is refused.
func TestLocal(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"mongodb://192.0.2.1/?local=true", "mongodb://127.0.0.1,192.0.2.1:27017/?local=true", "mongodb://127.0.0.1:27017@192.0.2.1/?local=true",
		"mongodb://[2001:db8::1]:27017/?local=true", "mongodb://nosuch.invalid/?local=true", "mongodb+srv://localhost.nosuch.invalid/?local=true"} {
		if _, err := mongo.Open(t.Context(), url); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "not on this machine") {
			t.Errorf("open %s: %v, want ErrInvalid", url, err)
		}
	}
	s, err := mongo.Open(t.Context(), with(testserver.Shared(t, testserver.Mongo).URL, "local=true"))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// A password may be in the environment or in a file. The server of the tests has no
// users, so it tells that it does not know this one.
func TestPasswordsElsewhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("p:@/?#% ä\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("POLYSTORE_TEST_PASSWORD", "p:@/?#% ä")
	server := testserver.Shared(t, testserver.Mongo).Addr
	for _, tt := range []struct{ url, want string }{
		{"mongodb://ann@" + server + "/?password_file=" + file, "user and password that the server knows"},
		{"mongodb://ann@" + server + "/?password_env=POLYSTORE_TEST_PASSWORD", "user and password that the server knows"},
		{"mongodb://ann@" + server + "/?password_env=POLYSTORE_TEST_NOSUCH", "POLYSTORE_TEST_NOSUCH is not set"},
		{"mongodb://ann@" + server + "/?password_file=/nosuch", "no such file"},
		{"mongodb://" + server + "/?password_file=" + file, "without its user"},
		{"mongodb://ann:x@" + server + "/?password_file=" + file, "given twice"},
		{"mongodb://" + server + "/?tls=true&tlsCAFile=/nosuch", "no such file"},
	} {
		if _, err := mongo.Open(t.Context(), tt.url); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("open %s: %v, want ErrInvalid with %q", tt.url, err, tt.want)
		}
	}
}
