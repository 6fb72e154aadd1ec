package redis

import "github.com/polystore/polystore/repo/driver"

// Texts are the scripts by their names in docs/design.md.
var Texts = map[string]string{
	"redis/span": spanText, "redis/over": overText, "redis/rows": rowsText, "redis/insert": insertText, "redis/remove": removeText,
	"redis/put": putText, "redis/patch": patchText, "redis/commit": commitText,
}

// JSON and ParseJSON are tagged JSON.
func JSON(v driver.Value) string { return string(appendJSON(nil, v)) }

func ParseJSON(text string) (driver.Value, error) { return parseJSON(text) }
