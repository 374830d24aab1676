package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/traffic"
)

// recordingID names a recording in paths.
func recordingID(dir, name string) string {
	sum := sha256.Sum256([]byte(filepath.Join(dir, name)))
	return hex.EncodeToString(sum[:12])
}

// Recordings implements console.RecordingSource.
func (s *consoleSource) Recordings() (dirs []string, all []console.Recording, err error) {
	dirs = s.host.recordings.directories()
	for _, dir := range dirs {
		found, listed := traffic.ListRecordings(dir)
		if !errors.Is(listed, fs.ErrNotExist) {
			err = errors.Join(err, listed)
		}
		for _, one := range found {
			all = append(all, console.Recording{ID: recordingID(dir, one.Name), RecordedSession: one})
		}
	}
	slices.SortStableFunc(all, func(a, b console.Recording) int { return b.Started.Compare(a.Started) })
	return dirs, all, err
}

// OpenRecording implements console.RecordingSource. One recording is read at a time, because it may be large.
func (s *consoleSource) OpenRecording(id string) (*traffic.Recording, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	for _, dir := range s.host.recordings.directories() {
		found, _ := traffic.ListRecordings(dir)
		if i := slices.IndexFunc(found, func(one traffic.RecordedSession) bool { return recordingID(dir, one.Name) == id }); i >= 0 {
			return traffic.OpenRecording(dir, found[i].Name)
		}
	}
	return nil, fs.ErrNotExist
}
