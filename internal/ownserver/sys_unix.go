//go:build unix && !linux

package ownserver

import "syscall"

const (
	suspend = syscall.SIGSTOP
	proceed = syscall.SIGCONT
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
