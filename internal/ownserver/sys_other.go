//go:build !unix

package ownserver

import "syscall"

// The signals as Linux numbers them. No process stands still here.
const (
	suspend = syscall.Signal(19)
	proceed = syscall.Signal(18)
)

func attributes() *syscall.SysProcAttr { return nil }
