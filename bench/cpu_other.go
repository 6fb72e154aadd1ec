//go:build !unix

package main

import (
	"errors"
	"time"
)

func processCPU() (time.Duration, error) {
	return 0, errors.New("the CPU time of a process is measured on Unix only")
}
