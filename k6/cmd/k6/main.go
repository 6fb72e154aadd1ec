// Command k6 is k6 with the extension k6/x/polystore, as xk6 would build it.
package main

import (
	"go.k6.io/k6/cmd"

	_ "github.com/polystore/polystore/k6/polyk6"
)

func main() { cmd.Execute() }
