package main

import "time"

// A usage is what a process takes of the machine.
type usage struct {
	cpu      time.Duration // user and system
	switches int64         // times a thread gave up its processor to wait
	writes   int64         // calls that write to a file
}

func (u usage) since(before usage) usage {
	return usage{u.cpu - before.cpu, u.switches - before.switches, u.writes - before.writes}
}
