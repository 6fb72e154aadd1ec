package driver_test

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// The text of a key has the order of its values, and gives them back.
func ExampleAppendParts() {
	cols := []driver.Column{{Name: "author", Kind: driver.String}, {Name: "n", Kind: driver.Int}}
	for _, n := range []int64{-3, 7, 1000} {
		text, err := driver.AppendParts(nil, cols, []driver.Value{driver.StringValue("ann"), driver.IntValue(n)})
		if err != nil {
			fmt.Println(err)
			return
		}
		vals, rest, err := driver.ParseParts(nil, string(text), cols)
		fmt.Printf("%s  %s %d %q %v\n", text, vals[0].Str(), vals[1].Int(), rest, err)
	}
	// Output:
	// ann#Y6#  ann -3 "" <nil>
	// ann#a7#  ann 7 "" <nil>
	// ann#d1000#  ann 1000 "" <nil>
}
