package mcpclient

import (
	"crypto/sha256"
	"encoding/json/v2"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// maxProbeExits bounds the commands that are remembered.
	maxProbeExits = 256
	// probeExitTime is how long a command is remembered. It may be replaced by a newer
	// program meanwhile.
	probeExitTime = time.Hour
)

// probeExits remembers, for all clients of the process, the commands whose program exits
// when it gets server/discover. Without it, each connection to such a command would start
// the program twice.
var probeExits exitedCommands

// exitedCommands is a bounded set of commands. The zero value is ready for use; it is
// safe for concurrent use.
type exitedCommands struct {
	mu    sync.Mutex
	until map[commandKey]time.Time // guarded by mu
}

// commandKey identifies a command: its path, arguments and working directory, as a
// digest, because arguments may have secrets. The zero value identifies none.
type commandKey [sha256.Size]byte

func (t *CommandTarget) key() commandKey {
	text, err := json.Marshal([]any{t.Path, t.Dir, t.Args})
	if err != nil { // a path that is not UTF-8
		return commandKey{}
	}
	return sha256.Sum256(text)
}

// has reports whether the command is remembered.
func (s *exitedCommands) has(key commandKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until[key])
}

// add remembers a command. If there are too many, it forgets the one that was added first.
func (s *exitedCommands) add(key commandKey) {
	if key == (commandKey{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = make(map[commandKey]time.Time)
	}
	s.until[key] = time.Now().Add(probeExitTime)
	if len(s.until) > maxProbeExits {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.until)), func(a, b commandKey) int { return s.until[a].Compare(s.until[b]) })
		delete(s.until, oldest)
	}
}

// remove forgets a command.
func (s *exitedCommands) remove(key commandKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.until, key)
}
