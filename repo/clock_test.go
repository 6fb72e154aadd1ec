package repo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A clocked store is on a server whose clock is off.
type clocked struct {
	*memory.Store
	off   time.Duration
	err   error
	slow  time.Duration // of the answer
	asked int
}

func (s *clocked) Time(context.Context) (time.Time, error) {
	s.asked++
	at := time.Now().Add(s.off)
	time.Sleep(s.slow)
	return at, s.err
}

// A program whose clock is far from the server's is refused, and one whose call was slow is
// not.
func TestClockOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name  string
			store clocked
			want  error
			words string
		}{
			{"same", clocked{}, nil, ""},
			{"near", clocked{off: 29 * time.Second}, nil, ""},
			{"near, before", clocked{off: -29 * time.Second}, nil, ""},
			{"ahead", clocked{off: 2 * time.Minute}, repo.ErrInvalid, "2m0s behind that of memory"},
			{"behind", clocked{off: -2 * time.Minute}, repo.ErrInvalid, "2m0s ahead of that of memory"},
			{"a slow answer", clocked{off: -20 * time.Second, slow: time.Minute}, nil, ""},
			{"a slow answer of another clock", clocked{off: 2 * time.Minute, slow: time.Minute}, repo.ErrInvalid, "1m0s behind"},
			{"not told", clocked{off: time.Hour, err: driver.ErrUnsupported}, nil, ""},
			{"no answer", clocked{err: driver.ErrUnavailable}, repo.ErrUnavailable, ""},
		} {
			tt.store.Store = memory.New(nil)
			s := repo.NewStore(&tt.store, nil)
			for range 2 {
				_, err := repo.Open[level](t.Context(), s, repo.Schema{Collection: "levels", Partition: []string{"id"}})
				if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.words) {
					t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.words)
				}
			}
			if tt.want == nil && tt.store.asked != 1 {
				t.Errorf("%s: the time was asked for %d times, want once", tt.name, tt.store.asked)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
