package redis

// Texts are the scripts by their names in docs/design.md.
var Texts = map[string]string{
	"redis/span": spanText, "redis/over": overText, "redis/rows": rowsText, "redis/insert": insertText, "redis/remove": removeText,
	"redis/put": putText, "redis/patch": patchText, "redis/commit": commitText,
}
