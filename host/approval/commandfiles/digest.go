package commandfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxCodeSize limits the size of a file that runs in bytes.
const maxCodeSize = 2 << 30

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
