package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type counted struct {
	Seconds int `json:"seconds,omitzero" doc:"how long it takes" min:"1" max:"60" default:"5"`
}

func countdown(ctx context.Context, in counted) (string, error) {
	total := in.Seconds
	if total == 0 {
		total = 5
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for done := range total {
		mcpserver.Progress(ctx, float64(done), float64(total), fmt.Sprintf("%d…", total-done))
		select {
		case <-second.C:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	mcpserver.Progress(ctx, float64(total), float64(total), "lift-off")
	return fmt.Sprintf("Counted down %d seconds.", total), nil
}
