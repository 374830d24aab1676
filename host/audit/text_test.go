package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
)

func TestLinesOfLogsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	redact := audit.TextRedactor([]string{"hunter22", "short"})
	for text, want := range map[string]string{
		`Post "https://a.example/k3y/mcp?q=1": refused`: `Post "https://a.example/[hidden]": refused`,
		"connect to https://a.example/k3y: refused":     "connect to https://a.example/[hidden]: refused",
		"https://a.example/?k3y=k3y;:,x;":               "https://a.example/[hidden];",
		"http://127.0.0.1:80?x":                         "http://127.0.0.1:80/[hidden]",
		"at https://a.example, ok":                      "at https://a.example, ok",
		"wss://ada:pw@a.example/x":                      "wss[hidden]a.example/[hidden]",
		"password is hunter22 hunter2":                  "password is [hidden] hunter2",
		"Authorization: Bearer abcdefghi":               "Authorization: [hidden]",
		"":                                              "",
	} {
		if got := redact(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestReasonsHaveNoMoreOfURLsThanTheOrigin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := audit.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Write(host.Decision{Upstream: "a", Action: host.ActionStart, Outcome: host.OutcomeFailed, Reason: `connect to https://a.example:8080/canary?key=canary: refused`})
	_ = l.Close()
	files, _ := filepath.Glob(path + "*")
	var all strings.Builder
	for _, file := range files {
		text, _ := os.ReadFile(file)
		all.Write(text)
	}
	if err != nil || strings.Contains(all.String(), "canary") || !strings.Contains(all.String(), "https://a.example:8080/[hidden]: refused") {
		t.Errorf("got %s, %v", all.String(), err)
	}
}
