//go:build !unix

package testserver

import (
	"errors"
	"syscall"
)

// The signals by which a server stands still and goes on, as Linux numbers them. No native server
// runs here: scripts/servers wants Unix. Servers that variables name are used as everywhere.
const (
	suspend = syscall.Signal(19)
	proceed = syscall.Signal(18)
)

func inGroup(int) *syscall.SysProcAttr { return nil }

func endGroup(int) error { return errors.New("process groups exist on Unix only") }
