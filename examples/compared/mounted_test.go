package compared_test

import (
	"bufio"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/examples/compared/app/accounts"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// useMounted calls two replicas in turn: the answer to a question goes to the other one than the
// call that asked.
func useMounted(t *testing.T, file string) []string {
	app := &accounts.App{Key: []byte(strings.Repeat("k", 32))}
	var served [2]atomic.Int64
	var replicas [2]http.Handler
	for i := range replicas {
		replicas[i] = httputil.NewSingleHostReverseProxy(replica(t, file, app))
	}
	var requests atomic.Int64
	balancer := mcptest.HTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := requests.Add(1) % 2
		served[i].Add(1)
		replicas[i].ServeHTTP(w, r)
	}))
	options := func(name, scope string) *mcpclient.Options {
		token, err := app.Token(name, scope)
		if err != nil {
			t.Fatal(err)
		}
		return &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20260728},
			HTTP:      mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"Bearer " + token}}},
			ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"publish":true}`)}, nil
			},
		}
	}
	address := mcpclient.URL(balancer + "/mcp")
	ada := connect(t, address, options("ada", "reports:publish"))
	bob := connect(t, address, options("bob", ""))
	answers := []string{
		call(t, ada, "whoami", nil), call(t, bob, "whoami", nil), call(t, ada, "publish", nil), call(t, ada, "publish", nil),
		strings.ReplaceAll(call(t, bob, "publish", nil), "error", "failed"),
	}
	wrong := options("eve", "reports:publish")
	wrong.HTTP.Header.Set("Authorization", "Bearer x")
	if _, err := mcpclient.Connect(t.Context(), address, wrong); err != nil {
		answers = append(answers, "refused")
	}
	if served[0].Load() == 0 || served[1].Load() == 0 {
		t.Error("a replica got no request")
	}
	return answers
}

var wantMounted = []string{"ada", "bob", "Published by ada.", "Published by ada.", "failed", "refused"}

// replica starts a program and returns the origin that it prints.
func replica(t *testing.T, file string, app *accounts.App) *url.URL {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), file)
	cmd.Env = append(os.Environ(), fmt.Sprintf("APP_KEY=%s", app.Key))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context ends it before
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(strings.TrimSuffix(strings.TrimSpace(line), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	return u
}
