// Job is a server with a tool that takes long: clients can run it as a task, ask for its state and
// cancel it.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func run(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	steps, err := req.RequireInt("steps")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	// The context of a task ends when its request is answered, so a job cannot be cancelled by it.
	if req.Params.Task != nil {
		ctx = context.WithoutCancel(ctx)
	}
	for i := range steps {
		if meta := req.Params.Meta; meta != nil && meta.ProgressToken != nil {
			_ = server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": meta.ProgressToken, "progress": i, "total": steps, "message": fmt.Sprintf("step %d", i+1),
			})
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return mcp.NewToolResultText(fmt.Sprintf("%d steps are done.", steps)), nil
}

func main() {
	srv := server.NewMCPServer("job", "1.0.0", server.WithTaskCapabilities(true, true, true), server.WithInputSchemaValidation())
	srv.AddTool(mcp.NewTool("run", mcp.WithDescription("Runs a job"), mcp.WithTaskSupport(mcp.TaskSupportOptional),
		mcp.WithInteger("steps", mcp.Required(), mcp.Description("how many"), mcp.Min(1))), run)
	if err := server.ServeStdio(srv); err != nil {
		log.Fatal(err)
	}
}
