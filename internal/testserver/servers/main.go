// Servers is the part of scripts/servers that has servers for the time of a command.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/polystore/polystore/internal/testserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code, err := testserver.Run(ctx, os.Args[1], os.Args[2:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
	}
	os.Exit(code)
}
