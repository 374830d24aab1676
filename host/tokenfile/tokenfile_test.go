package tokenfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/tokenfile"
	"github.com/fondaco/fondaco/internal/claim"
)

const canary = "CANARY-CANARY-CANARY-1"

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "tokens")
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTokensIdentifyTheirHolders(t *testing.T) {
	t.Parallel()
	f, err := tokenfile.Open(write(t, "", "# two\n\nlaptop:"+canary+"\nrobot:sha256:a665a45920422f9d417e4867efdc4fb8a04a1f3fff1fa07e998e86f7f7a27ae3\n", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{canary: "laptop", "123": "robot"} {
		if got, err := f.Holder(token); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", token, got, err, want)
		}
	}
	for _, token := range []string{"", "laptop", canary + "x", canary[1:], "sha256:a665a45920422f9d417e4867efdc4fb8a04a1f3fff1fa07e998e86f7f7a27ae3"} {
		if got, err := f.Holder(token); got != "" || !errors.Is(err, tokenfile.ErrUnknown) {
			t.Errorf("%s: got %q, %v, want ErrUnknown", token, got, err)
		}
	}
}

func TestFileMayHaveAByteOrderMark(t *testing.T) {
	t.Parallel()
	f, err := tokenfile.Open(write(t, "", "\ufefflaptop:"+canary+"\r\n", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Holder(canary); got != "laptop" || err != nil {
		t.Errorf("got %q, %v, want laptop", got, err)
	}
	_, err = tokenfile.Open(write(t, "", "\xff\xfel\x00:\x00", 0o600))
	if err == nil || !strings.Contains(err.Error(), "found text in UTF-16, want UTF-8") {
		t.Errorf("got %v, want the error that names UTF-16", err)
	}
}

func TestFileThatChangesIsReadAgain(t *testing.T) {
	t.Parallel()
	path := write(t, "", "laptop:"+canary+"\n", 0o600)
	f, err := tokenfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "other:"+strings.Repeat("x", 30)+"\n", 0o600)
	if got, err := f.Holder(canary); !errors.Is(err, tokenfile.ErrUnknown) {
		t.Errorf("got %q, %v of a token that was taken out", got, err)
	}
	write(t, path, "laptop\n", 0o600)
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Holder(strings.Repeat("x", 30)); err == nil || errors.Is(err, tokenfile.ErrUnknown) {
		t.Errorf("got %q, %v while the file makes no sense, want an error of the file", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Holder(strings.Repeat("x", 30)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %q, %v without the file", got, err)
	}
}

func TestFilesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "no token",
		"# nobody\n":                      "no token",
		"a:" + canary + "\nb:short":       ":2: want a token of at least 20",
		canary:                            ":1: want NAME:TOKEN",
		"a b:" + canary:                   "want NAME:TOKEN",
		"a:" + canary + "\nb:" + canary:   ":2: found the token of another line",
		"a:sha256:12":                     "64 hexadecimal digits",
		"a:sha256:" + canary:              "64 hexadecimal digits",
		"a:" + canary + " " + canary:      "without spaces",
		strings.Repeat("#", 1<<20) + "##": "more than 1048576 bytes",
	} {
		if _, err := tokenfile.Open(write(t, "", text, 0o600)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%.40s: got %v, want %q", text, err, want)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if _, err := tokenfile.Open(write(t, "", "a:"+canary, mode)); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: got %v, want it refused", mode, err)
		}
	}
}

func TestTokensInADirectoryThatOthersCanWriteAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-364b")
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode that says so")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "tokens")
	if err := os.WriteFile(path, []byte("ada:abcdefghijklmnopqrstuvwxyz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	if _, err := tokenfile.Open(path); err == nil || !strings.Contains(err.Error(), "its group can replace files in it; chmod go-w "+dir) {
		t.Errorf("got %v, want it refused", err)
	}
}
