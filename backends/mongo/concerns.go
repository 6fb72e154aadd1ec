package mongo

import (
	"fmt"
	"reflect"

	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// strong refuses a client whose own concerns or read preference say less than what every
// command of a store says. They are used nowhere here, but whoever set them may take
// them for what holds. The driver tells them to nobody, so they are looked for in the
// client itself; where a release keeps them elsewhere, nothing is refused.
func strong(client *mongodriver.Client) error {
	c := reflect.ValueOf(client)
	weak, journal := "", settingOf(c, "writeConcern", "Journal")
	switch w, level := settingOf(c, "writeConcern", "W"), settingOf(c, "readConcern", "Level"); {
	case w.IsValid() && fmt.Sprint(w) != "majority":
		weak = fmt.Sprintf("write concern w %.50s", fmt.Sprint(w))
	case journal.IsValid() && !journal.Bool():
		weak = "write concern journal false"
	case level.IsValid() && (level.String() == "local" || level.String() == "available"):
		weak = "read concern " + level.String()
	default:
		mode := settingOf(c, "readPreference", "mode")
		if !mode.IsValid() || readpref.Mode(mode.Uint()) == readpref.PrimaryMode {
			return nil
		}
		weak = "read preference " + readpref.Mode(mode.Uint()).String()
	}
	return who.Invalid("open: the client has %s, which does not keep what is acknowledged: give the store a client without it", weak)
}

// settingOf returns what lies under the names of fields, one inside the other, and the zero
// Value where there is none.
func settingOf(v reflect.Value, names ...string) reflect.Value {
	for _, name := range names {
		if v = pointed(v); v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v = v.FieldByName(name)
	}
	return pointed(v)
}

// pointed follows pointers and interfaces; of nil it is the zero Value.
func pointed(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}
