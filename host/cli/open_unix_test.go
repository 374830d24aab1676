//go:build unix && !darwin

package cli_test

import (
	"encoding/json/v2"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// getPage returns the status and the body of a page.
func getPage(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func TestOpenKeepsTheLinkFromOtherUsers(t *testing.T) {
	t.Parallel()
	words, home, _ := begin(t, "")
	words.await(t, upstreamsStarted)
	bin := t.TempDir()
	program := "#!/bin/sh\nprintf '%s' \"$*\" >" + bin + "/arguments\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "PATH=" + bin + ":/usr/bin:/bin"}
	stdout, stderr, code := session{env: append(env, "DISPLAY=:0")}.run(t.Context(), "open")
	if code != 0 || stdout != "" || strings.Contains(stderr, "key=") {
		t.Fatalf("got exit code %d, %q, %q, want the browser only", code, stdout, stderr)
	}
	path, err := os.ReadFile(filepath.Join(bin, "arguments"))
	if err != nil || strings.Contains(string(path), "key=") {
		t.Fatalf("got %s, %v, want no link in the arguments", path, err)
	}
	info, err := os.Stat(string(path))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file for the user alone", info, err)
	}
	page, err := os.ReadFile(string(path))
	link := regexp.MustCompile(`href="(http://[^"]+)"`).FindSubmatch(page)
	if err != nil || link == nil {
		t.Fatalf("got %s, %v, want a link", page, err)
	}
	if status, _ := getPage(t, string(link[1])); status != 200 {
		t.Errorf("the link: got status %d, want 200", status)
	}
	if status, _ := getPage(t, string(link[1])); status != 403 {
		t.Errorf("the link again: got status %d, want 403", status)
	}
	if strings.Contains(words.String(), "key=") {
		t.Errorf("got %s, want no link in what may be a log", words.String())
	}
}

func TestOpenPrintsTheLinkWithoutADesktop(t *testing.T) {
	t.Parallel()
	words, home, _ := begin(t, "")
	base := "http://" + words.await(t, `(?m)^LISTEN (\S+)$`)[1]
	words.await(t, upstreamsStarted)
	user := session{env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run")}}
	for _, args := range [][]string{{"open"}, {"open", "--print"}, {"open", "--print", "--url", base + "/mcp"}} {
		stdout, stderr, code := user.run(t.Context(), args...)
		if code != 0 || !strings.HasPrefix(stdout, base+"/console/login?key=") {
			t.Errorf("%q: got exit code %d, %q, %q, want a link", args, code, stdout, stderr)
		}
	}
	stdout, _, _ := user.run(t.Context(), "open", "--json")
	var answer struct{ URL string }
	if err := json.Unmarshal([]byte(stdout), &answer, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("got %s, %v", stdout, err)
	}
	if status, _ := getPage(t, answer.URL); status != 200 {
		t.Errorf("the link: got status %d, want 200", status)
	}
	if _, stderr, code := user.run(t.Context(), "open", "--url", "http://127.0.0.1:1"); code != 4 {
		t.Errorf("no such host: got exit code %d, %q, want 4", code, stderr)
	}
}

func TestUpPrintsALinkOnATerminalOnly(t *testing.T) {
	t.Parallel()
	words, _, _ := begin(t, "y\n")
	link := words.await(t, `(?m)^  console    (\S+/console/login\?key=\S+)`)[1]
	if status, _ := getPage(t, link); status != 200 {
		t.Errorf("got status %d, want 200", status)
	}
}
