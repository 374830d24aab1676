// Package policy reads the managed policy of a machine: rules of the administrator for the
// servers that users may run, which users cannot change. It is a file that only the
// administrator can write.
package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Place is where the policy is, and who has to own it. Only code chooses it: no flag and no
// environment variable does, because the user could set them.
type Place struct {
	Path string
	// Owner is a user id. The administrator may own the file, too. It is not used on Windows.
	Owner int
}

// testPath and testOwner are set by the linker, in programs that tests build:
//
//	go build -ldflags "-X github.com/fondaco/fondaco/host/policy.testPath=PATH"
var testPath, testOwner string

// System returns the place of this operating system:
//
//	Linux and other Unix   /etc/fondaco/policy.json
//	macOS                  /Library/Application Support/Fondaco/policy.json
//	Windows                Fondaco\policy.json in the directory for data of all programs
func System() Place {
	if testPath != "" {
		owner, err := strconv.Atoi(testOwner)
		if err != nil {
			owner = administrator
		}
		return Place{testPath, owner}
	}
	return Place{systemPath(), administrator}
}

// administrator is the user id of the administrator.
const administrator = 0

func (p Place) String() string { return p.Path }

// maxSize limits the file in bytes.
const maxSize = 1 << 20

// Load reads the policy. It is nil if there is no file. Any other failure is an error, and
// then no server may run: the file cannot be read, somebody else than the administrator can
// change it, or it is not JSON. Entries that cannot be used are in Problems.
func (p Place) Load() (*Policy, error) {
	content, err := p.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("managed policy: %w; no server is run until the administrator has repaired it", err)
	}
	policy, err := parse(p.Path, content)
	if err != nil {
		return nil, (&Policy{Path: p.Path}).unusable(err)
	}
	return policy, nil
}

// unusable returns the error of a file that is no policy.
func (p *Policy) unusable(err error) error {
	return fmt.Errorf("managed policy: %s: %w; no server is run until the administrator has repaired it", p.Path, err)
}

// read reads the file if only its owner can change it.
func (p Place) read() ([]byte, error) {
	if _, err := os.Lstat(p.Path); err != nil {
		return nil, err
	}
	dir := filepath.Dir(p.Path)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	for _, below := range []string{dir, real} {
		if err := p.checkDirs(below); err != nil {
			return nil, err
		}
	}
	info, err := os.Lstat(p.Path)
	if err != nil || !info.Mode().IsRegular() { // a link could lead to a file of somebody else, and a pipe would block
		return nil, errors.Join(err, fmt.Errorf("%s: want a regular file", p.Path))
	}
	f, err := os.Open(p.Path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %v", err) // not as a file that does not exist
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, fmt.Errorf("%s: was replaced while it was read", p.Path))
	}
	if err := p.checkFile(f); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = fmt.Errorf("%s: more than %d bytes", p.Path, maxSize)
	}
	return content, err
}

// checkDirs checks a directory and those above it.
func (p Place) checkDirs(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err == nil {
			err = p.checkDir(info)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
