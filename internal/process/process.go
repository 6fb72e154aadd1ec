// Package process tells whether another process of this machine is still there.
package process

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// Same reports whether the process that had a number and a [Mark] is still there. Where marks are not
// told, another one with its number is taken for it.
func Same(pid int, mark string) bool {
	if !Alive(pid) {
		return false
	}
	now := Mark(pid)
	return mark == "" || now == "" || mark == now
}

// Alive reports whether there is a process of that number. Another one may have got it since.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	if runtime.GOOS == "windows" { // where only processes that are there are found
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}
