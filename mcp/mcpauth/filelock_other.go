//go:build aix || solaris || (!unix && !windows)

package mcpauth

import (
	"errors"
	"os"
)

const systemHasModes = true

// tryLockFile refuses: a file store without a lock would lose tokens.
func tryLockFile(path string) (unlock func(), err error) {
	return nil, &os.PathError{Op: "lock", Path: path, Err: errors.ErrUnsupported}
}

func syncDirectory(string) {}
