package tasks

import "context"

// The names below were replaced. The next minor version removes them.

// Ask returns Request(ctx, method, params, out).
//
// Deprecated: use [Request].
//
//go:fix inline
func Ask(ctx context.Context, method string, params, out any) error {
	return Request(ctx, method, params, out)
}
