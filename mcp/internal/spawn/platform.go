package spawn

import (
	"errors"
	"fmt"
)

// checkPlatform refuses platforms that have no processes.
func checkPlatform(goos string) error {
	if goos == "js" || goos == "wasip1" {
		return fmt.Errorf("programs cannot be started on %s: %w", goos, errors.ErrUnsupported)
	}
	return nil
}
