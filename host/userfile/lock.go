package userfile

import (
	"context"
	"fmt"
	"time"
)

const (
	// maxLockWait is how long Lock waits at most. Locks are held for milliseconds, so a
	// process that holds one for longer is stopped or hangs.
	maxLockWait = 5 * time.Second
	// lockPause is the pause between two attempts.
	lockPause = 10 * time.Millisecond
)

// Lock locks a file against other processes and other callers in this one, and creates it
// if necessary. It waits until ctx ends, at most 5 seconds, so a process that was stopped
// while it held the lock stops no other. The lock ends with unlock or with the process.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxLockWait, fmt.Errorf("another process has held the lock for %v", maxLockWait))
	defer cancel()
	for {
		unlock, locked, err := tryLock(path)
		if locked || err != nil {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w", path, context.Cause(ctx))
		case <-time.After(lockPause):
		}
	}
}
