// Job is a server with a tool that takes long: clients can run it as a task, ask for its state and
// cancel it.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type work struct {
	Steps int `json:"steps" doc:"how many" min:"1"`
}

func run(ctx context.Context, in work) (string, error) {
	for i := range in.Steps {
		mcpserver.Progress(ctx, float64(i), float64(in.Steps), fmt.Sprintf("step %d", i+1))
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return fmt.Sprintf("%d steps are done.", in.Steps), nil
}

func main() {
	srv := mcpserver.New("job", "1.0.0", nil)
	srv.Tool("run", "Runs a job", run, tasks.Enable(srv, nil).AsTask())
	mcpserver.Main(srv)
}
