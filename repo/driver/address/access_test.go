package address

import (
	"crypto/tls"
	"fmt"
	"io"
	"testing"
)

func TestIsTLS(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("open: %w", tls.RecordHeaderError{}):             true,
		fmt.Errorf("open: %w", &tls.CertificateVerificationError{}): true,
		io.EOF: false,
	} {
		if got := isTLS(err); got != want {
			t.Errorf("%T is about TLS: %v, want %v", err, got, want)
		}
	}
}
