package mcpserver

import (
	"context"
	"log/slog"

	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// panicked is the error of a panic in user code. The panics of handlers are contained where they
// are called: serve.go, and toolcall.go for tools; errormapping.go turns them into the error that the
// client gets. This file is for the rest: stores, buses, and functions that run in the background.
type panicked = usercode.Panic

// recoverAndLog is deferred by a function that calls user code. It stores a panic in err and
// logs it.
func (s *Server) recoverAndLog(what string, err *error) {
	if v := recover(); v != nil {
		p := usercode.NewPanic(v)
		*err = p
		s.options.logger().LogAttrs(context.Background(), slog.LevelError, what+" panicked", usercode.Attrs(p)...)
	}
}

// runLogged runs user code whose error has no caller: an error or a panic is logged.
func (s *Server) runLogged(ctx context.Context, what string, run func() error, attrs ...slog.Attr) {
	if err := usercode.Run(run); err != nil {
		s.options.logger().LogAttrs(ctx, slog.LevelError, what+" failed", append(attrs, usercode.Attrs(err)...)...)
	}
}
