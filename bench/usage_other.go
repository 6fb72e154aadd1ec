//go:build !unix

package main

import "errors"

func used() (usage, error) {
	return usage{}, errors.New("the CPU time of a process is measured on Unix only")
}
