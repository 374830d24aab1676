package tasks

import "context"

// The names below were replaced. They are removed in the next minor version.

// Ask returns Request(ctx, method, params, out).
//
// Deprecated: use [Request].
//
//go:fix inline
func Ask(ctx context.Context, method string, params, out any) error {
	return Request(ctx, method, params, out)
}
