package ownserver

import "syscall"

// The signals by which a process stands still and goes on.
const (
	suspend = syscall.SIGSTOP
	proceed = syscall.SIGCONT
)

// attributes put a server into a group of its own, since Ctrl-C goes to that of this process; and end it with the
// thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
