//go:build aix || solaris || (!unix && !windows)

package mcpauth

import (
	"errors"
	"os"
)

const systemHasModes = true

// tryLockFile returns an error, because a file store without locks would lose
// tokens.
func tryLockFile(path string) (unlock func(), err error) {
	return nil, &os.PathError{Op: "lock", Path: path, Err: errors.ErrUnsupported}
}

func syncDirectory(string) {}
