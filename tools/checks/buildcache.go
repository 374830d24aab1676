package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A buildCache is a copy of the go command's build cache, made of hard links. The files that
// a build adds are removed after it: those of all mutants would fill the disk.
type buildCache struct {
	dir  string
	kept map[string]bool // paths of the copied files
}

// copyBuildCache copies the build cache into a directory beside it.
func copyBuildCache() (*buildCache, error) {
	output, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return nil, err
	}
	original := strings.TrimSpace(string(output))
	dir, err := os.MkdirTemp(filepath.Dir(original), "go-build-mutants")
	if err != nil {
		return nil, err
	}
	c := &buildCache{dir, make(map[string]bool)}
	err = c.files(original, func(path, name string) error {
		link := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			return err
		}
		c.kept[link] = true
		return os.Link(path, link)
	})
	if err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// trim removes the files that were not copied.
func (c *buildCache) trim() error {
	return c.files(c.dir, func(path, _ string) error {
		if c.kept[path] {
			return nil
		}
		return os.Remove(path)
	})
}

func (c *buildCache) remove() { os.RemoveAll(c.dir) }

// files calls visit with the path of each compiled file and its name below root. The corpora of
// fuzz tests are left out.
func (c *buildCache) files(root string, visit func(path, name string) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "fuzz":
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return visit(path, name)
	})
}
