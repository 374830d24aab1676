package cli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fondaco/fondaco/host/demo"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestScripts runs the sessions in testdata/script, each in a home and a directory
// of its own. Besides the usual commands there are
//
//	exits CODE COMMAND...      run a command that has to end with the exit code
//	waitfor PATTERN            wait for a file
//	changed PATTERN OLD NEW    write other words into a file
//	retries COMMAND...         run a command until it does what it has to
//	shows PATTERN COMMAND...   run a command until what it prints matches
//	candidates WORD...         complete words until there is something to say
//	says FILE PATTERN          wait until what a program writes to a file matches
//	visits FILE                open the address that a file comes to hold, and say yes
//
// and the program "server", see newScriptServer. $URL is the demonstration,
// $LOCKED a server that wants tokens of $ISSUER, $GATEWAY another one behind a gateway that wants
// the header "X-Gateway-Key: open-sesame", and below $ODD is what no server
// should answer. $PROXY is a proxy by which alone the demonstration is reached as
// http://remote.example.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the sessions use paths as Unix has them")
	}
	t.Parallel()
	claim.Shows(t, "R-316b") // roots.txtar
	srv, stop := demo.New()
	t.Cleanup(stop)
	web := httptest.NewServer(srv.HTTPHandler())
	t.Cleanup(web.Close)
	proxy := httptest.NewServer(proxyTo(web.URL))
	t.Cleanup(proxy.Close)
	odd := httptest.NewServer(oddities())
	t.Cleanup(odd.Close)
	as := newAuthority(t)
	protected := newScriptServer()
	protected.Tool("export", "Export all sums", func(context.Context, struct{}) (string, error) { return "exported", nil }, mcpserver.Scopes("export"))
	locked := as.protect(t, protected)
	gateway := as.protectBehind(t, newScriptServer(), keyed)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "waitfor": waitFor, "changed": changeFile, "visits": visitNamed, "retries": retries,
			"candidates": candidates, "says": says, "shows": shows,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "home", ".config"))
			e.Setenv("XDG_RUNTIME_DIR", filepath.Join(e.WorkDir, "run"))
			e.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each command takes a second longer under -race
			e.Setenv("URL", web.URL)
			e.Setenv("PROXY", proxy.URL)
			e.Setenv("ODD", odd.URL)
			e.Setenv("LOCKED", locked)
			e.Setenv("GATEWAY", gateway)
			e.Setenv("ISSUER", as.URL)
			e.Setenv("FONDACO_USER_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
			e.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere") // no keyring of who runs the tests
			return nil
		},
	})
}

// proxyTo is a proxy that knows one host.
func proxyTo(address string) http.Handler {
	target, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path = r.In.URL.Path
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "remote.example" {
			http.Error(w, "the proxy does not know the host", http.StatusBadGateway)
			return
		}
		forward.ServeHTTP(w, r)
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("want exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		got, err = ended.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("got exit code %d, want %d", got, want)
	}
}

// oddities are answers over HTTP that no server should give.
func oddities() http.Handler {
	mux := http.NewServeMux()
	locked := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}
	mux.HandleFunc("/locked", locked)
	mux.HandleFunc("/page", locked)
	mux.HandleFunc("/.well-known/oauth-protected-resource/page", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!doctype html>")
	})
	mux.HandleFunc("/nonsense", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":"of nobody","result":{}}`)
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
		<-r.Context().Done()
	})
	return mux
}

func retries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("want retries COMMAND...")
	}
	var err error
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = ts.Exec(args[0], args[1:]...); err == nil {
			return
		}
	}
	ts.Check(err)
}

func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("want shows PATTERN COMMAND...")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err := ts.Exec(args[1], args[2:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("the command does not show %s", args[0])
}

// candidates completes words until there is something: what takes longer than a
// user would wait is left out.
func candidates(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("want candidates WORD...")
	}
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); {
		ts.Check(ts.Exec("fondaco", append([]string{"completion", "--"}, args...)...))
		if ts.ReadFile("stdout") != "" {
			return
		}
	}
	ts.Fatalf("no candidates within %v", maxWait)
}

func says(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("want says FILE PATTERN")
	}
	pattern := regexp.MustCompile(args[1])
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && pattern.Match(text) {
			return
		}
	}
	ts.Fatalf("%s does not say %s", args[0], args[1])
}

func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("want waitfor PATTERN")
	}
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found, err := filepath.Glob(ts.MkAbs(args[0])); err == nil && len(found) > 0 {
			return
		}
	}
	ts.Fatalf("nothing is at %s", args[0])
}

func changeFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("want changed PATTERN OLD NEW")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("got %q, want one file", found)
	}
	text, err := os.ReadFile(found[0])
	ts.Check(err)
	changed := strings.ReplaceAll(string(text), args[1], args[2])
	if changed == string(text) {
		ts.Fatalf("%s does not say %q", found[0], args[1])
	}
	ts.Check(os.WriteFile(found[0], []byte(changed), 0o600))
}
