//go:build unix

package testserver

import "syscall"

// The signals by which a server stands still and goes on.
const (
	suspend = syscall.SIGSTOP
	proceed = syscall.SIGCONT
)

// inGroup puts a process that is to start into a process group; 0 is a new one of its own.
func inGroup(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group}
}

// endGroup asks all processes of a group to end.
func endGroup(group int) error { return syscall.Kill(-group, syscall.SIGTERM) }
