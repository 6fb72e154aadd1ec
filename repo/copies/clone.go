package copies

import "reflect"

// clone returns a value that shares nothing with another one that a record has. What is empty is nil in it.
func clone[T any](x T) T {
	v := reflect.New(reflect.TypeFor[T]()).Elem()
	v.Set(cloned(reflect.ValueOf(&x).Elem()))
	return *v.Addr().Interface().(*T)
}

// same reports whether records have the same fields.
func same[T any](cloned, other T) bool { return reflect.DeepEqual(cloned, clone(other)) }

func cloned(v reflect.Value) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Struct:
		to.Set(v)
		for i := range v.NumField() {
			if to.Field(i).CanSet() {
				to.Field(i).Set(cloned(v.Field(i)))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			to.Index(i).Set(cloned(v.Index(i)))
		}
	case reflect.Slice:
		if v.Len() > 0 {
			to.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			reflect.Copy(to, v)
		}
		for i := 0; v.Type().Elem().Kind() > reflect.Complex128 && i < v.Len(); i++ {
			to.Index(i).Set(cloned(v.Index(i)))
		}
	case reflect.Map:
		for at := v.MapRange(); at.Next(); {
			if to.IsNil() {
				to.Set(reflect.MakeMap(v.Type()))
			}
			to.SetMapIndex(at.Key(), cloned(at.Value()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			to.Set(reflect.New(v.Type().Elem()))
			to.Elem().Set(cloned(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			to.Set(cloned(v.Elem()))
		}
	default:
		to.Set(v)
	}
	return to
}
