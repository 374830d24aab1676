package supervisor

import (
	"os"
	"time"
)

// FileVersion identifies one state of a file. That of a file that does not exist is zero.
type FileVersion struct {
	modified time.Time
	size     int64
}

// VersionOf returns the version of a file. It is asked for before the file is read, so that no change is missed.
func VersionOf(path string) FileVersion {
	info, err := os.Stat(path)
	if err != nil {
		return FileVersion{}
	}
	return FileVersion{info.ModTime(), info.Size()}
}
