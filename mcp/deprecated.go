package mcp

import "time"

// The name below was replaced. The next minor version removes it.

// RetryLaterf returns PeerRetryLaterf(code, after, format, args...).
//
// Deprecated: use [PeerRetryLaterf].
//
//go:fix inline
func RetryLaterf(code Code, after time.Duration, format string, args ...any) *Error {
	return PeerRetryLaterf(code, after, format, args...)
}
