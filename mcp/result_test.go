package mcp_test

import (
	"encoding/json/v2"
	"math"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

// Every result is a Result.
var _ = []mcp.Result{
	&mcp.EmptyResult{}, &mcp.DiscoverResult{}, &mcp.InitializeResult{}, &mcp.ListToolsResult{}, &mcp.CallToolResult{},
	&mcp.ListResourcesResult{}, &mcp.ListResourceTemplatesResult{}, &mcp.ReadResourceResult{}, &mcp.ListPromptsResult{},
	&mcp.GetPromptResult{}, &mcp.CompleteResult{}, &mcp.ListenResult{}, &mcp.InputRequiredResult{}, &mcp.ElicitResult{},
	&mcp.CreateMessageResult{}, &mcp.ListRootsResult{}, &mcp.CreateTaskResult{}, &mcp.TaskResult{},
	&mcp.TaskPayloadResult{}, &mcp.ListTasksResult{},
}

func TestBaseIsPartOfTheResult(t *testing.T) {
	t.Parallel()
	result := &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("hi")}}
	base := mcp.Result(result).Base()
	base.ResultType, base.Meta = mcp.ResultComplete, mcp.Meta{}
	if err := base.Meta.Set("k", 1); err != nil {
		t.Fatal(err)
	}
	const want = `{"resultType":"complete","_meta":{"k":1},"content":[{"type":"text","text":"hi"}]}`
	if got := encode(t, result); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCaching(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-268a", "D-20")
	for _, c := range []struct {
		caching mcp.Caching
		ttl     time.Duration
		want    string
	}{
		{mcp.Caching{}, 0, `{}`},
		{mcp.CacheFor(0, mcp.CachePrivate), 0, `{"ttlMs":0,"cacheScope":"private"}`},
		{mcp.CacheFor(1999*time.Microsecond, mcp.CachePublic), time.Millisecond, `{"ttlMs":1,"cacheScope":"public"}`},
		{mcp.CacheFor(-time.Hour, mcp.CachePublic), 0, `{"ttlMs":0,"cacheScope":"public"}`},
		{mcp.Caching{TTLMs: new(int64(-1))}, 0, `{"ttlMs":-1}`},
		{mcp.Caching{TTLMs: new(int64(math.MaxInt64))}, math.MaxInt64 / time.Millisecond * time.Millisecond, `{"ttlMs":9223372036854775807}`},
	} {
		if got := c.caching.TTL(); got != c.ttl {
			t.Errorf("%s: got %v, want %v", c.want, got, c.ttl)
		}
		if got := encode(t, c.caching); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestEmptyCursorIsACursor(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-260")
	for raw, want := range map[string]bool{`{"tools":[]}`: false, `{"tools":[],"nextCursor":""}`: true} {
		var page mcp.ListToolsResult
		if err := json.Unmarshal([]byte(raw), &page); err != nil {
			t.Fatal(err)
		}
		if got := page.NextCursor != nil; got != want {
			t.Errorf("%s: got a cursor %t, want %t", raw, got, want)
		}
	}
}
