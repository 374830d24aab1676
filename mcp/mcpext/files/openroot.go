package files

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fondaco/fondaco/mcp"
)

// OpenRoot opens the root of the client that contains path, and returns the name of path
// within it. A file that is opened with that name through the *os.Root is inside of the
// root, even if there are symbolic links to other places:
//
//	root, name, err := files.OpenRoot(roots, in.Path)
//	if err != nil {
//		return err
//	}
//	defer root.Close()
//	f, err := root.Open(name)
//
// The path must be absolute. Of nested roots the innermost is used. If the root is a file,
// name is that file, and no other may be opened. Roots that do not exist, or are on
// another machine, are ignored.
//
// Spec: 2026-07-28 client/roots#security-considerations
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func OpenRoot(roots []mcp.Root, path string) (*os.Root, string, error) {
	if !filepath.IsAbs(path) {
		return nil, "", fmt.Errorf("path %.256q: want an absolute one", path)
	}
	path = filepath.Clean(path)
	innermost := ""
	for _, r := range roots {
		dir, err := r.Path()
		if err == nil && within(dir, path) && len(dir) > len(innermost) && exists(dir) {
			innermost = dir
		}
	}
	if innermost == "" {
		return nil, "", fmt.Errorf("path %.256q: want a path below one of the roots of the client", path)
	}
	if info, err := os.Stat(innermost); err == nil && !info.IsDir() {
		innermost = filepath.Dir(innermost)
	}
	root, err := os.OpenRoot(innermost)
	if err != nil {
		return nil, "", fmt.Errorf("root %q: %w", innermost, err)
	}
	name, err := filepath.Rel(innermost, path)
	if err != nil {
		_ = root.Close()
		return nil, "", err
	}
	return root, name, nil
}

// within reports whether path is dir or is below it. It compares only the names.
func within(dir, path string) bool {
	name, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(name)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
