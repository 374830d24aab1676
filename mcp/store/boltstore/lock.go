//go:build unix || windows

package boltstore

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// pidFile returns the name of the file that names the process that has a file open.
func pidFile(path string) string { return path + ".pid" }

// openLocked opens and locks a file, and writes the id of this process beside it. It does not
// wait for the lock.
func openLocked(path string) (db *bolt.DB, err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics if it finds pages that contradict each other
			db, err = nil, fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	db, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Nanosecond, FreelistType: bolt.FreelistMapType})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, errors.New(holder(path) + "; a file can be used by one process only")
	case err != nil:
		return nil, err
	}
	if err := os.WriteFile(pidFile(path), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// holder says which process has a file open.
func holder(path string) string {
	text, err := os.ReadFile(pidFile(path))
	pid, notNumber := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || notNumber != nil:
		return "another process has it open"
	case pid == os.Getpid():
		return "this process has it open already"
	}
	return fmt.Sprintf("process %d has it open", pid)
}
