package redisstore_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

// Each client has a connection of its own to Redis, and a server of its own, so that its list
// shows where it comes from.
func TestClientsShareTheirCache(t *testing.T) {
	t.Parallel()
	engine, space := testengine.Redis(t), namespace()
	connected := func(tool string, o mcpclient.Options) (*mcpclient.Client, *mcpserver.Server) {
		srv := mcpserver.New("files", "1", &mcpserver.Options{Dynamic: true, ListCache: mcpserver.Cache{TTL: time.Hour}})
		srv.Tool(tool, "", noTool)
		o.Cache = mcpclient.CacheOptions{
			Store: open(t, engine.URL, redisstore.Options{Namespace: space}), Key: bytes.Repeat([]byte("k"), 32),
			Principal: "alice", Server: "files",
		}
		return mcptest.Connect(t, srv, &o), srv
	}
	changed := make(chan struct{}, 10)
	one, srv := connected("one", mcpclient.Options{OnToolsChanged: func(context.Context, *mcpclient.Client) { changed <- struct{}{} }})
	two, _ := connected("two", mcpclient.Options{})
	for _, c := range []*mcpclient.Client{one, two} {
		if got := firstTool(t, c); got != "one" {
			t.Errorf("got tool %q, want that of the first client's list", got)
		}
	}
	srv.Tool("other", "", noTool)
	<-changed // after the invalidation has begun
	eventually(t, "the other client lists again", func() bool { return firstTool(t, two) == "two" })
}

func noTool(context.Context, struct{}) (string, error) { return "", nil }

func firstTool(t *testing.T, c *mcpclient.Client) string {
	t.Helper()
	var first *mcp.Tool
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Error(err)
			return ""
		}
		first = &tool
		break
	}
	if first == nil {
		return ""
	}
	return first.Name
}
