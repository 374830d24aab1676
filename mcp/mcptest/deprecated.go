package mcptest

import (
	"io"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The names below were replaced. The next minor version removes them.

// Between returns WrapConn(s, wrap).
//
// Deprecated: use [WrapConn].
//
//go:fix inline
func Between(s mcpclient.Server, wrap func(mcp.Conn) mcp.Conn) mcpclient.Server {
	return WrapConn(s, wrap)
}

// Cut returns BreakAfter(stream, n).
//
// Deprecated: use [BreakAfter].
//
//go:fix inline
func Cut(stream io.ReadWriteCloser, n int64) io.ReadWriteCloser { return BreakAfter(stream, n) }

// Disturb returns InjectFaults(conn, f).
//
// Deprecated: use [InjectFaults].
//
//go:fix inline
func Disturb(conn mcp.Conn, f Faults) mcp.Conn { return InjectFaults(conn, f) }

// Exercise calls TestTransport(t, target, v).
//
// Deprecated: use [TestTransport].
//
//go:fix inline
func Exercise(t *testing.T, target mcpclient.Target, v mcp.Revision) { TestTransport(t, target, v) }

// Leaks calls CheckLeaks(tb).
//
// Deprecated: use [CheckLeaks].
//
//go:fix inline
func Leaks(tb testing.TB) { CheckLeaks(tb) }

// JudgeOnly returns CheckOnly(side).
//
// Deprecated: use [CheckOnly].
//
//go:fix inline
func JudgeOnly(side Side) CheckOption { return CheckOnly(side) }
