package policy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// linkedTree makes a directory with managed/sub and other/sub, each with a program, and a link in
// user to other/sub, so that user/link/.. is other for the system, and user for the text.
func linkedTree(t *testing.T) (dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows removes \"..\" before it follows links, and they need a privilege")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"managed", "other", "user"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, name, "sub"), 0o700), os.WriteFile(filepath.Join(dir, name, "server"), []byte(name), 0o700))
	}
	if err = errors.Join(err, os.Symlink(filepath.Join(dir, "other", "sub"), filepath.Join(dir, "user", "link")), os.Symlink(filepath.Join(dir, "managed", "sub"), filepath.Join(dir, "user", "toManaged"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func contentDigest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func checkReadings(t *testing.T, what string, content string, target mcpclient.CommandTarget, want bool) {
	t.Helper()
	if err := loaded(t, content).Check(&host.Upstream{Key: "p", Target: &target}); (err == nil) != want {
		t.Errorf("%s: got %v, want allowed: %v", what, err, want)
	}
}

func TestDirectoryBehindALinkIsNotAllowedByItsText(t *testing.T) {
	t.Parallel()
	dir := linkedTree(t)
	user, managed := filepath.Join(dir, "user"), filepath.Join(dir, "managed")
	policy := fmt.Sprintf(`{"servers": {"allow": [{"command": ["/bin/sh", "server"], "dir": %q}]}}`, managed)
	for at, want := range map[string]bool{
		managed:                         true,
		managed + "/":                   true,
		managed + "/./":                 true,
		user + "/sub/../../managed":     false,
		user + "/toManaged/..":          false,
		user + "/link/../../../managed": false,
		managed + "/sub/..":             false, // sub can be replaced by a link until the start
	} {
		checkReadings(t, at, policy, mcpclient.CommandTarget{Path: "/bin/sh", Args: []string{"server"}, Dir: at}, want)
	}
}

func TestDirectoryBehindALinkIsDeniedByEachReading(t *testing.T) {
	t.Parallel()
	dir := linkedTree(t)
	user := filepath.Join(dir, "user")
	for denied, want := range map[string]bool{"managed": false, "user": false, "other": true} {
		policy := fmt.Sprintf(`{"servers": {"deny": [{"dir": %q}]}}`, filepath.Join(dir, denied))
		checkReadings(t, denied, policy, mcpclient.CommandTarget{Path: "/bin/true", Dir: user + "/toManaged/.."}, want)
	}
}

func TestArgumentBehindALinkIsDeniedByEachReading(t *testing.T) {
	t.Parallel()
	dir := linkedTree(t)
	user := filepath.Join(dir, "user")
	for _, test := range []struct {
		dir, argument, denied string
		want                  bool
	}{
		{user, "link/../server", "other", false},
		{user, "link/../server", "user", false},
		{user, "link/../server", "managed", true},
		{user, user + "/link/../server", "other", false},
		{user, user + "/link/../server", "user", false},
		{user + "/toManaged", "../server", "managed", false},
		{user + "/toManaged", "../server", "user", false},
		{user + "/toManaged/..", "sub/../server", "managed", false},
		{user + "/toManaged/..", "sub/../server", "other", true},
	} {
		policy := fmt.Sprintf(`{"servers": {"deny": [{"digest": %q}]}}`, contentDigest(test.denied))
		what := fmt.Sprintf("%s in %s with that of %s denied", test.argument, test.dir, test.denied)
		checkReadings(t, what, policy, mcpclient.CommandTarget{Path: "/bin/sh", Args: []string{test.argument}, Dir: test.dir}, test.want)
	}
}

func TestProgramBehindALinkIsAllowedOnlyIfAllReadingsAgree(t *testing.T) {
	t.Parallel()
	dir := linkedTree(t)
	user := filepath.Join(dir, "user")
	server := func(of string) string { return filepath.Join(dir, of, "server") }
	byPath := func(list, of string) string {
		return fmt.Sprintf(`{"servers": {%q: [{"command": [%q]}]}}`, list, server(of))
	}
	byDigest := func(list, of string) string {
		return fmt.Sprintf(`{"servers": {%q: [{"digest": %q}]}}`, list, contentDigest(of))
	}
	ambiguous := map[string]mcpclient.CommandTarget{
		"absolute": {Path: user + "/link/../server"},
		"relative": {Path: "link/../server", Dir: user},
	}
	for what, target := range ambiguous {
		for _, of := range []string{"user", "other"} {
			checkReadings(t, what+", allowed by path", byPath("allow", of), target, false)
			checkReadings(t, what+", allowed by digest", byDigest("allow", of), target, false)
			checkReadings(t, what+", denied by path", byPath("deny", of), target, false)
			checkReadings(t, what+", denied by digest", byDigest("deny", of), target, false)
		}
		checkReadings(t, what+", another one denied", byPath("deny", "managed"), target, true)
	}
	// What is not there yet may be a link when the program is started.
	checkReadings(t, "behind nothing", byPath("allow", "user"), mcpclient.CommandTarget{Path: "missing/../server", Dir: user}, false)
	checkReadings(t, "without a link", byPath("allow", "user"), mcpclient.CommandTarget{Path: "sub/../server", Dir: user}, true)

	admitted := &host.Upstream{Key: "p", Target: mcpclient.Command(user + "/link/../server"), Files: []host.ProgramFile{{Path: server("user")}}}
	if loaded(t, byPath("allow", "user")).Check(admitted) == nil {
		t.Error("got a program allowed by its text that the system finds elsewhere")
	}
}
