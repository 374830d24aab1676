package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFiguresOfManyCommitsAgoAreTooOld(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, output)
		}
		return strings.TrimSpace(string(output))
	}
	page := func(version string) {
		text := "- **When:** now\n- **Versions:** fondaco " + version + "; go-sdk v1\n"
		if err := os.WriteFile(filepath.Join(dir, "performance.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	page(git("describe", "--always") + "-dirty")
	for range 2 {
		git("commit", "-q", "--allow-empty", "-m", "next")
	}
	if err := age([]string{"-docs", dir, "-commits", "2"}); err != nil {
		t.Errorf("two commits later: got %v, want no error", err)
	}
	if err := age([]string{"-docs", dir, "-commits", "1"}); err == nil || !strings.Contains(err.Error(), "2 commits old") {
		t.Errorf("two commits later: got %v, want that they are too old", err)
	}
	page("0123456")
	if err := age([]string{"-docs", dir}); err == nil || !strings.Contains(err.Error(), "no commit of this repository") {
		t.Errorf("an unknown commit: got %v", err)
	}
}
