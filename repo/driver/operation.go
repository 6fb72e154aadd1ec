package driver

import "context"

type operationKey struct{}

// WithOperation returns a context whose calls are part of an operation of package repo, which is named
// as its errors name it: "insert", "find".
func WithOperation(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, operationKey{}, name)
}

// OperationOf returns the operation that a call is part of, "" if that is not told: see
// Facts.Operations.
func OperationOf(ctx context.Context) string {
	if ctx == nil {
		return ""
	}
	name, _ := ctx.Value(operationKey{}).(string)
	return name
}
