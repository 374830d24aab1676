package userfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/internal/claim"
)

func write(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// S-106.
func TestFilesThatOthersCanChangeAreRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	for name, test := range map[string]struct {
		mode os.FileMode
		path string // whose mode it is
		want string // in the error; empty for none
	}{
		"own file":                    {0o644, "a/b/file", ""},
		"file of a group":             {0o660, "a/b/file", "its group can write to it; chmod go-w"},
		"file of everybody":           {0o606, "a/b/file", "others can write to it"},
		"directory of a group":        {0o770, "a/b", "its group can replace files in it"},
		"directory above":             {0o707, "a", "others can replace files in it"},
		"directory above for reading": {0o755, "a", ""},
		"directory like /tmp":         {0o777 | os.ModeSticky, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := write(t, filepath.Join(dir, "a/b/file"))
			if err := os.Chmod(filepath.Join(dir, test.path), test.mode); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(dir, "link")
			if err := os.Symlink(file, link); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{file, link} {
				_, err := userfile.ReadFile(path, 100)
				_, refused := errors.AsType[*userfile.AccessError](err)
				if refused != (test.want != "") || refused && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
			}
		})
	}
}

// With the umask of a private group each directory and file on the way can be written by the group.
// Who can write to a directory can remove the file that the user has put there.
func TestMissingFileBelowADirectoryOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := t.TempDir()
	missing := filepath.Join(dir, "a/missing")
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := userfile.ReadFile(missing, 100); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
	if err := os.Chmod(filepath.Join(dir, "a"), 0o770); err != nil {
		t.Fatal(err)
	}
	_, err := userfile.ReadFile(missing, 100)
	if _, refused := errors.AsType[*userfile.AccessError](err); !refused {
		t.Errorf("got %v, want the directory refused", err)
	}
}

func TestOneCommandMendsAWholePath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "a b", "c", "file"))
	var paths []string
	for _, path := range []string{"a b", "a b/c", "a b/c/file"} {
		path = filepath.Join(dir, path)
		if err := os.Chmod(path, 0o775); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	link := filepath.Join(dir, "a b", "c", "link")
	if err := os.Symlink("../c/file", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link} {
		err := userfile.Check(path)
		want := paths[0] + ": mode 775: its group can replace files in it; chmod go-w '" + strings.Join(paths, "' '") + "'"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestFileOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	file := write(t, filepath.Join(t.TempDir(), "a", "file"))
	for _, path := range []string{file, filepath.Dir(file)} {
		if err := os.Chown(path, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if err := userfile.Check(file); err == nil || !strings.Contains(err.Error(), "it belongs to the user with id 12345") {
			t.Errorf("%s: got %v, want it refused", path, err)
		}
		if err := os.Chown(path, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnlyRegularFilesOfLimitedSizeAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "file"))
	if content, err := userfile.ReadFile(file, 7); string(content) != "content" || err != nil {
		t.Errorf("got %q, %v", content, err)
	}
	if _, err := userfile.ReadFile(file, 6); err == nil || !strings.Contains(err.Error(), "more than 6 bytes") {
		t.Errorf("got %v, want the limit", err)
	}
	if _, err := userfile.ReadFile(dir, 6); err == nil {
		t.Error("a directory was read")
	}
}

func TestReadableFileIsNotPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	file := write(t, filepath.Join(t.TempDir(), "my file"))
	if err := userfile.CheckPrivate(file); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := userfile.CheckPrivate(file); err == nil || !strings.HasSuffix(err.Error(), "; chmod 600 '"+file+"'") {
		t.Errorf("got %v, want it refused, and a command for a shell", err)
	}
}

func TestLockWaitsUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := userfile.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := userfile.Lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	time.AfterFunc(50*time.Millisecond, unlock)
	again, err := userfile.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// S-106.
func TestWrittenFileIsReadableByItsUserOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"one", "two"} {
		if err := userfile.WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := userfile.ReadFile(path, 10); string(got) != content || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, content)
		}
	}
	if err := userfile.CheckPrivate(path); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want the file alone", entries, err)
	}
}

func TestLinksThatOthersCanReplaceAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-364b")
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "own", "file"))
	shared := filepath.Join(dir, "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	direct, indirect, above := filepath.Join(shared, "link"), filepath.Join(dir, "link"), filepath.Join(shared, "own")
	for link, target := range map[string]string{direct: file, indirect: filepath.Join("shared", "..", "shared", "link"), above: "../own"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{direct, indirect, filepath.Join(above, "file")}
	for _, path := range paths {
		if text, err := userfile.ReadFile(path, 100); err != nil || string(text) != "content" {
			t.Errorf("%s: got %q, %v, want the file behind the link", path, text, err)
		}
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := userfile.Check(path); err == nil || !strings.Contains(err.Error(), "shared: mode 777: others can replace files in it") {
			t.Errorf("%s: got %v, want it refused", path, err)
		}
	}
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := userfile.Check(path); err != nil {
			t.Errorf("%s: got %v, want it accepted, because others cannot replace the link", path, err)
		}
	}
	if os.Geteuid() != 0 {
		t.Log("SKIPPED: links of other users, which only root can make")
		return
	}
	if err := os.Lchown(direct, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if err := userfile.Check(direct); err == nil || !strings.Contains(err.Error(), "it belongs to the user with id 12345") {
		t.Errorf("got %v, want the link of another user refused", err)
	}
}

func TestCircleOfLinksIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, path); err != nil {
		t.Skip(err)
	}
	if err := userfile.Check(path); err == nil {
		t.Error("got nil, want an error")
	}
}
