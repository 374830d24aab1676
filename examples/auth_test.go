package examples_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// serve starts a program whose first line is its URL.
func serve(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program(name), args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// protectedServer starts a server and its issuer, and returns their URLs.
func protectedServer(t *testing.T) (server, issuer string) {
	issuer = serve(t, []string{"ROBOT_SECRET=correct horse"}, "issuer", "-http", "127.0.0.1:0")
	return serve(t, nil, "protected", "-http", "127.0.0.1:0", "-issuer", issuer), issuer
}

// TestMetadataIsAtBothPlaces asks as clients do that follow no redirect.
func TestMetadataIsAtBothPlaces(t *testing.T) {
	t.Parallel()
	server, _ := protectedServer(t)
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		resp, err := http.DefaultTransport.RoundTrip(httptest.NewRequest(http.MethodGet, strings.TrimSuffix(server, "/mcp")+path, nil))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s, want the metadata", path, resp.Status)
		}
	}
}

// connect runs the client, is its user, and returns what it says and how often it
// sent its user to sign in.
func connect(t *testing.T, env []string, args ...string) (said string, visits int, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program("connect"), args...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "sign in at "); ok {
			visits++
			allow(t, address)
			continue
		}
		said += lines.Text() + "\n"
	}
	return said, visits, cmd.Wait()
}

// allow opens the page of consent and submits its form.
func allow(t *testing.T, address string) {
	t.Helper()
	for _, open := range []func() (*http.Response, error){
		func() (*http.Response, error) { return http.Get(address) },
		func() (*http.Response, error) { return http.PostForm(address, nil) },
	} {
		resp, err := open()
		if err != nil {
			t.Error(err)
			return
		}
		page, _ := io.ReadAll(resp.Body)
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("status %d: %s", resp.StatusCode, page)
		}
	}
}

func TestUserSignsInAndStepsUp(t *testing.T) {
	t.Parallel()
	server, _ := protectedServer(t)
	if said, visits, err := connect(t, nil, "-print", server, "read"); err != nil || said != "It was a good year.\n" || visits != 1 {
		t.Errorf("got %q after %d visits, %v", said, visits, err)
	}
	if said, visits, err := connect(t, nil, "-print", server, "publish"); err != nil || said != "Published by ada.\n" || visits != 2 {
		t.Errorf("got %q after %d visits, %v; want one for each scope", said, visits, err)
	}
}

func TestTokensAreKept(t *testing.T) {
	t.Parallel()
	server, _ := protectedServer(t)
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	env := []string{"TOKEN_KEY=" + base64.StdEncoding.EncodeToString(key)}
	dir := filepath.Join(t.TempDir(), "tokens")
	for i, want := range []int{1, 0} {
		if said, visits, err := connect(t, env, "-print", "-keep", dir, server, "read"); err != nil || said != "It was a good year.\n" || visits != want {
			t.Errorf("run %d: got %q after %d visits, %v", i, said, visits, err)
		}
	}
}

func TestClientCredentialsNeedNoUser(t *testing.T) {
	t.Parallel()
	server, issuer := protectedServer(t)
	if said, visits, err := connect(t, []string{"ROBOT_SECRET=correct horse"}, "-machine", issuer, server, "publish"); err != nil || said != "Published by robot.\n" || visits != 0 {
		t.Errorf("got %q after %d visits, %v", said, visits, err)
	}
	if said, _, err := connect(t, []string{"ROBOT_SECRET=battery"}, "-machine", issuer, server, "publish"); err == nil || !strings.Contains(said, "invalid_client") || strings.Contains(said, "battery") {
		t.Errorf("got %q, %v", said, err)
	}
}

var (
	goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	margin  = regexp.MustCompile(`(?m)^[ \t]+`)
)

// TestCodeOfTheGuidesRuns holds the code in the guides against the programs here
// and the examples of the package, indentation apart.
func TestCodeOfTheGuidesRuns(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, pattern := range []string{"*/*.go", "../mcp/mcpauth/example_test.go"} {
		for _, text := range read(t, pattern) {
			sources.WriteString(margin.ReplaceAllString(text, ""))
		}
	}
	blocks := 0
	for name, text := range read(t, "../docs/auth-*.md") {
		for _, block := range goBlock.FindAllStringSubmatch(text, -1) {
			blocks++
			if !strings.Contains(sources.String(), margin.ReplaceAllString(block[1], "")) {
				t.Errorf("%s: no program has\n%s", name, block[1])
			}
		}
	}
	if blocks < 10 {
		t.Errorf("got %d blocks of code, want those of three guides", blocks)
	}
}

// read returns files by their names.
func read(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: got %d files, %v", pattern, len(names), err)
	}
	texts := make(map[string]string)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}
