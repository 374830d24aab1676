package mcpserver

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// panicked is the error that a panic in user code becomes.
type panicked = usercode.Panic

// contain turns a panic into an error, so that it ends one call and nothing else.
func contain(err *error) {
	if v := recover(); v != nil {
		*err = &panicked{Value: v, Stack: debug.Stack()}
	}
}

// contain makes a panic of the method that defers it an error.
func (s *Server) contain(what string, err *error) {
	if v := recover(); v != nil {
		p := usercode.NewPanic(v)
		*err = p
		s.options.logger().LogAttrs(context.Background(), slog.LevelError, what+" panicked", usercode.Attrs(p)...)
	}
}

// background runs user code that nobody waits for: an error or a panic is logged.
func (s *Server) background(ctx context.Context, what string, run func() error, attrs ...slog.Attr) {
	if err := usercode.Run(run); err != nil {
		s.options.logger().LogAttrs(ctx, slog.LevelError, what+" failed", append(attrs, usercode.Attrs(err)...)...)
	}
}
