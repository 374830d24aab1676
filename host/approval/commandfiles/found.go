package commandfiles

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxCodeFiles limits the files of one server that run, so that a project cannot make the host
// read for hours.
const maxCodeFiles = 256

// File is a file that runs.
type File struct {
	Role Role `json:"role"`
	// Path is absolute. Target is the file that it leads to if it has symbolic links.
	Path   string `json:"path"`
	Target string `json:"target,omitzero"`
	// SHA256 is that of the content in hexadecimal. It is empty for a script below Command.DevDir.
	SHA256 string `json:"sha256,omitzero"`
}

// Role says how a file takes part in a program.
type Role string

// The roles.
const (
	RoleProgram     Role = "program"     // that the command names
	RoleInterpreter Role = "interpreter" // of a script, or behind a shim
	RoleScript      Role = "script"      // that an interpreter or the program runs
	RoleText        Role = "text"        // whose content is an argument or a variable
)

// Found is what a command runs.
type Found struct {
	// Files are those that run, the program first, as they were when they were digested.
	Files []File
	// Data are files among the arguments that do not run. They have no digest.
	Data []string
	// NotCovered says in words what else runs, of which no file was digested.
	NotCovered []string

	infos []fs.FileInfo // of the targets of Files
}

// has reports whether a path was added.
func (f *Found) has(path string) bool {
	for _, file := range f.Files {
		if file.Path == path || file.Target == path {
			return true
		}
	}
	return false
}

// add digests a file and adds it.
func (f *Found) add(role Role, path string, digested bool) error {
	if len(f.Files) == maxCodeFiles {
		return fmt.Errorf("more than %d files would run", maxCodeFiles)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	file := File{Role: role, Path: path}
	if target != path {
		file.Target = target
	}
	var info fs.FileInfo
	if digested {
		if file.SHA256, info, err = digestFile(target); err != nil {
			return err
		}
	}
	f.Files, f.infos = append(f.Files, file), append(f.infos, info)
	return nil
}

// Verify returns an error if a file is not as it was digested. Files whose identity, size
// and times have not changed are not read again: the time of the last change of status
// cannot be set by programs.
func (f *Found) Verify() error {
	for i, file := range f.Files {
		if file.SHA256 == "" {
			continue
		}
		target, err := filepath.EvalSymlinks(file.Path)
		if err != nil {
			return err
		}
		info, err := os.Stat(target)
		if err == nil && unchanged(f.infos[i], info) {
			continue
		}
		sum, _, err := digestFile(target)
		if err != nil {
			return err
		}
		if sum != file.SHA256 {
			return fmt.Errorf("%s was changed while the server was started", file.Path)
		}
	}
	return nil
}

// Open opens the program if it is as it was digested.
func (f *Found) Open() (*os.File, error) {
	program := f.Files[0]
	opened, err := os.Open(program.Path)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	if err == nil && !unchanged(f.infos[0], info) {
		var sum string
		if sum, _, err = digestOpened(opened); err == nil && sum != program.SHA256 {
			err = fmt.Errorf("%s was changed while the server was started", program.Path)
		}
	}
	if err != nil {
		_ = opened.Close()
		return nil, err
	}
	return opened, nil
}
