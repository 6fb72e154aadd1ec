package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
)

// Texts are the scripts by their names in internal/gate/statements.md.
var Texts = map[string]string{
	"redis/span": spanText, "redis/over": overText, "redis/sets": setsText, "redis/rows": rowsText, "redis/insert": insertText, "redis/remove": removeText, "redis/edit": editText,
	"redis/put": putText, "redis/patch": patchText, "redis/commit": commitText,
}

// URLOptions are those of a URL.
var URLOptions = new(target).options()

// TextsOf reads all texts of a reply.
func TextsOf(text string) (list []string) {
	for r := (wire.Reply{Rest: text}); r.Rest != ""; {
		s, ok := r.Text()
		switch {
		case r.Bad:
			s = "bad"
		case !ok:
			s = "nothing"
		}
		list = append(list, s)
	}
	return list
}

// RefusedWrite returns what a commit was refused with that was answered with a text, and then
// sent again and ended with err.
func RefusedWrite(answer string, err error) error {
	cmd := wire.NewCommit(context.Background(), nil, []any{"evalsha"})
	cmd.Cmder.(*goredis.RawCmd).SetVal([]byte(answer))
	return wire.RefusalOf(cmd, err)
}
