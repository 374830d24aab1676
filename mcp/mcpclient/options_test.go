package mcpclient_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// TestOptionsAreCopied changes the options while the client uses them.
func TestOptionsAreCopied(t *testing.T) {
	t.Parallel()
	opts := answersAll()
	opts.Extensions = []mcpclient.Extension{{ID: "com.example/before", Sessions: true}}
	_, target := serve(t, asks("stateless"))
	c := connect(t, target, opts)
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for range 100 {
			opts.ElicitForm, opts.Sample, opts.Roots, opts.Timeouts.Call, opts.Ask.MaxRounds = nil, nil, nil, 1, 1
			opts.Extensions[0].ID = "com.example/later"
		}
	}()
	result, err := c.CallTool(t.Context(), "book", pair{1, 2})
	if err != nil || !strings.Contains(string(result.StructuredContent), "roses") {
		t.Errorf("got %v, %v, want the handlers that Connect got", result, err)
	}
	<-changed
	if result, err := c.CallTool(t.Context(), "book", pair{1, 2}); err != nil || result.IsError {
		t.Errorf("after the change: got %v, %v", result, err)
	}
}
