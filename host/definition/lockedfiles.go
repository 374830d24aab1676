package definition

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// lockedFiles returns the digests of the files of the project that run, by their path in it. It
// returns nil if the files of the upstream are not known. What is installed or built on each machine
// is left out, because it differs there: each user approves it.
func lockedFiles(u *host.Upstream) map[string]string {
	if u.Files == nil {
		return nil
	}
	project, err := filepath.EvalSymlinks(u.Origin.Project) // as the paths of the files are
	if err != nil {
		project = u.Origin.Project
	}
	all := make(map[string]string)
	for _, f := range u.Files {
		rel, err := filepath.Rel(project, f.Path)
		if err == nil && filepath.IsLocal(rel) && f.SHA256 != "" && !isInstalled(project, rel) && !isNative(f.Path) {
			all[filepath.ToSlash(rel)] = f.SHA256
		}
	}
	return all
}

// isInstalled reports whether a path in a project is that of a file that a package manager has written:
// of npm, or in a virtual environment of Python.
func isInstalled(project, rel string) bool {
	if slices.Contains(strings.Split(filepath.ToSlash(rel), "/"), "node_modules") {
		return true
	}
	for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(project, dir, "pyvenv.cfg")); err == nil {
			return true
		}
	}
	return false
}

// nativeMarks are the first bytes of programs for some machines: of Linux, Windows and macOS, the last
// with the number of its machines, because classes of Java begin alike.
var nativeMarks = []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe\x00\x00\x00\x01", "\xca\xfe\xba\xbe\x00\x00\x00\x02"}

// isNative reports whether a file is a compiled program.
func isNative(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start, _ := io.ReadAll(io.LimitReader(f, 8))
	return slices.ContainsFunc(nativeMarks, func(mark string) bool { return bytes.HasPrefix(start, []byte(mark)) })
}
