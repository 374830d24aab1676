package cli

import (
	"os"
	"time"
)

// stamp tells one state of a file from another.
type stamp struct {
	modified time.Time
	size     int64
}

// stampOf returns the zero stamp for a file that is not there.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}
