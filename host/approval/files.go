package approval

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fondaco/fondaco/host"
)

const (
	// maxCodeFiles limits the files of one server that run, and maxCodeSize the size of one
	// in bytes, so that a project cannot make the host read for hours.
	maxCodeFiles = 256
	maxCodeSize  = 2 << 30
)

// startedFiles are the files that run when a program is started, as they were when they
// were digested.
type startedFiles struct {
	list  []File
	infos []fs.FileInfo // of the targets
}

func newStartedFiles() *startedFiles { return new(startedFiles) }

// has reports whether a path was added.
func (s *startedFiles) has(path string) bool {
	for _, f := range s.list {
		if f.Path == path || f.Target == path {
			return true
		}
	}
	return false
}

// add digests a file and adds it.
func (s *startedFiles) add(role Role, path string, digested bool) error {
	if len(s.list) == maxCodeFiles {
		return fmt.Errorf("more than %d files would run", maxCodeFiles)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	f := File{Role: role, Path: path}
	if target != path {
		f.Target = target
	}
	var info fs.FileInfo
	if digested {
		if f.SHA256, info, err = digestFile(target); err != nil {
			return err
		}
	}
	s.list, s.infos = append(s.list, f), append(s.infos, info)
	return nil
}

// digestFile returns the SHA-256 of a file's content, and the file as it was opened.
func digestFile(path string) (sum string, info fs.FileInfo, err error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // to open a pipe would block
		return "", nil, orNotRegular(err, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	return digestOpened(f)
}

// digestOpened is digestFile for an opened file.
func digestOpened(f *os.File) (sum string, info fs.FileInfo, err error) {
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", nil, orNotRegular(err, f.Name())
	}
	h, n := sha256.New(), int64(0)
	if info.Size() <= maxCodeSize {
		n, err = io.Copy(h, io.NewSectionReader(f, 0, maxCodeSize+1))
	}
	switch {
	case err != nil:
		return "", nil, err
	case max(n, info.Size()) > maxCodeSize:
		return "", nil, fmt.Errorf("%s: more than %d bytes", f.Name(), maxCodeSize)
	}
	return hex.EncodeToString(h.Sum(nil)), info, nil
}

func orNotRegular(err error, path string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: want a regular file", path)
}

// programFiles returns the files for others that decide about their content, so that they need
// not read them again.
func (s *startedFiles) programFiles() (all []host.ProgramFile) {
	for _, f := range s.list {
		if f.Role != RoleText {
			all = append(all, host.ProgramFile{Path: cmp.Or(f.Target, f.Path), SHA256: f.SHA256})
		}
	}
	return all
}

// verify returns an error if a file is not as it was digested. Files whose identity, size
// and times have not changed are not read again: the time of the last change of status
// cannot be set by programs.
func (s *startedFiles) verify() error {
	for i, f := range s.list {
		if f.SHA256 == "" {
			continue
		}
		target, err := filepath.EvalSymlinks(f.Path)
		if err != nil {
			return err
		}
		info, err := os.Stat(target)
		if err == nil && unchanged(s.infos[i], info) {
			continue
		}
		sum, _, err := digestFile(target)
		if err != nil {
			return err
		}
		if sum != f.SHA256 {
			return fmt.Errorf("%s was changed while the server was started", f.Path)
		}
	}
	return nil
}

// open opens the program of a server if it is as it was digested.
func (s *startedFiles) open() (*os.File, error) {
	program := s.list[0]
	f, err := os.Open(program.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !unchanged(s.infos[0], info) {
		var sum string
		if sum, _, err = digestOpened(f); err == nil && sum != program.SHA256 {
			err = fmt.Errorf("%s was changed while the server was started", program.Path)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
