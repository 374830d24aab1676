package cli

import (
	"os"
	"time"
)

// fileVersion identifies one state of a file.
type fileVersion struct {
	modified time.Time
	size     int64
}

// fileVersionOf returns the version of a file, zero if it does not exist.
func fileVersionOf(path string) fileVersion {
	info, err := os.Stat(path)
	if err != nil {
		return fileVersion{}
	}
	return fileVersion{info.ModTime(), info.Size()}
}
