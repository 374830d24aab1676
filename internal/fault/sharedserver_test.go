//go:build unix && replicas

package fault_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/store/natsstore"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

// engine is what the replicas of a test share.
type engine interface {
	mcp.Store
	mcp.Bus
	Events() mcp.EventStore
	Close() error
}

// openEngine connects to the engine at a URL.
func openEngine(ctx context.Context, url string, logger *slog.Logger) (engine, error) {
	switch {
	case strings.HasPrefix(url, "redis:"):
		return redisstore.Open(ctx, url, &redisstore.Options{Logger: logger})
	case strings.HasPrefix(url, "nats:"):
		return natsstore.Open(ctx, url, &natsstore.Options{Logger: logger})
	}
	return pgstore.Open(ctx, url, &pgstore.Options{Logger: logger})
}

// watchedURI is the resource whose content is the file of the test.
const watchedURI = "state://current"

// labelled is the argument of the tools of replicaServer: the line for the ledger.
type labelled struct {
	Line string `json:"line"`
	Ms   int    `json:"ms,omitzero"`
}

// replicaServer is a server whose sessions are served by all of its replicas.
func replicaServer(shared engine, logger *slog.Logger) *mcpserver.Server {
	srv := mcpserver.New("replica", "1", &mcpserver.Options{
		Logger: logger, Store: shared, Bus: shared,
		Keys: []mcpserver.Key{{ID: "k", Secret: bytes.Repeat([]byte("s"), 32)}},
		HTTP: &mcpserver.HTTPOptions{Events: shared.Events(), LameDuck: duration("FAULT_TEST_LAME_DUCK")},
	})
	srv.Tool("echo", "Returns the line", func(_ context.Context, in labelled) (string, error) { return in.Line, nil }, mcpserver.ReadOnly())
	srv.Tool("add", "Adds the line to the ledger", func(_ context.Context, in labelled) (string, error) {
		return "added " + in.Line, note(in.Line)
	})
	srv.Tool("slow", "Adds the line to the ledger, and reports progress", slowly)
	srv.Tool("ask", "Asks for a name, and adds the line to the ledger", func(ctx context.Context, in labelled) (string, error) {
		answer, err := mcpserver.Ask[struct{ Name string }](ctx, "name", "Who has "+in.Line+"?")
		if err != nil {
			return "", err
		}
		return in.Line + " belongs to " + answer.Name, note(in.Line)
	})
	srv.Tool("sample", "Asks the model, and adds the line to the ledger", func(ctx context.Context, in labelled) (string, error) {
		answer, err := mcpserver.Sample(ctx, "verse", &mcp.CreateMessageParams{
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text(in.Line)}}}, MaxTokens: 10,
		})
		if err != nil {
			return "", err
		}
		return answer.Content.Text(), note(in.Line)
	})
	var spare atomic.Bool // whether the tool is listed, which only one of several replicas changes
	srv.Tool("spare", "Does nothing", func(context.Context, struct{}) (string, error) { return "", nil })
	srv.Tool("announce", "Announces a change of the resource and of the tools", func(context.Context, labelled) (string, error) {
		srv.Updated(watchedURI)
		spare.Store(!spare.Load())
		srv.EnableTool("spare", spare.Load())
		return "announced", nil
	})
	srv.Resource(watchedURI, "current", "text/plain", func(context.Context) ([]byte, error) {
		return os.ReadFile(os.Getenv("FAULT_TEST_FILE") + ".state")
	})
	return srv
}

// slowly reports progress and logs three times.
func slowly(ctx context.Context, in labelled) (string, error) {
	if err := note(in.Line); err != nil {
		return "", err
	}
	for i := range 3 {
		mcpserver.Progress(ctx, float64(i+1), 3, in.Line)
		mcpserver.Log(ctx).Info(in.Line)
		select {
		case <-time.After(time.Duration(in.Ms) * time.Millisecond / 3):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return "finished " + in.Line, nil
}

func init() {
	roles["replica"] = func() {
		logger := quiet
		if os.Getenv("FAULT_TEST_LOG") != "" {
			logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
		}
		shared, err := openEngine(context.Background(), os.Getenv("FAULT_TEST_ENGINE"), logger)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Args = []string{os.Args[0], "-http", "127.0.0.1:0"}
		mcpserver.Main(replicaServer(shared, logger))
	}
}
