package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
)

// recordings are the directories in which a host records. The zero value has none, and no recording may start.
type recordings struct {
	handshakes *traffic.Handshakes // of all sessions, also without a recording

	mu   sync.Mutex                           // held while open is replaced
	dirs []string                             // guarded by mu: absolute, the one that was begun last at the end
	open atomic.Pointer[[]*traffic.Directory] // nil for none
}

// record adds a message to each directory.
func (r *recordings) record(upstream string, m mcp.WireMessage) {
	if open := r.open.Load(); open != nil {
		for _, d := range *open {
			d.Record(upstream, m)
		}
	}
}

// start begins to record in a directory until stop is called.
func (r *recordings) start(m *Main, dir string, maxBytes int64) (stop func(), err error) {
	d, err := traffic.OpenDirectory(dir, &traffic.DirectoryOptions{
		MaxBytes: maxBytes, Handshakes: r.handshakes, Hide: m.secrets.redactKnown, OnError: func(err error) { m.Message("%s", terminal.CleanLine(err.Error())) },
	})
	if err != nil {
		return nil, err
	}
	r.change(func(all []*traffic.Directory) []*traffic.Directory { return append(all, d) })
	r.note(dir)
	return func() {
		r.change(func(all []*traffic.Directory) []*traffic.Directory {
			return slices.DeleteFunc(all, func(o *traffic.Directory) bool { return o == d })
		})
		_ = d.Close()
	}, nil
}

// maxRecordingDirs limits the directories of which the console shows the recordings.
const maxRecordingDirs = 8

// note keeps the name of a directory after its recording has ended, too.
func (r *recordings) note(dir string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirs = append(slices.DeleteFunc(r.dirs, func(known string) bool { return known == dir }), dir)
	if len(r.dirs) > maxRecordingDirs {
		r.dirs = slices.Delete(r.dirs, 0, 1)
	}
}

// directories returns those in which the host records or has recorded.
func (r *recordings) directories() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.dirs)
}

// close ends all recordings.
func (r *recordings) close() {
	if open := r.open.Swap(nil); open != nil {
		for _, d := range *open {
			_ = d.Close()
		}
	}
}

func (r *recordings) change(f func([]*traffic.Directory) []*traffic.Directory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*traffic.Directory
	if open := r.open.Load(); open != nil {
		all = slices.Clone(*open)
	}
	if all = f(all); len(all) == 0 {
		r.open.Store(nil)
		return
	}
	r.open.Store(&all)
}

// recordUntil records for a command until ctx is done or its time is over.
func (h *hostProcess) recordUntil(ctx context.Context, r control.RecordRequest) error {
	if !filepath.IsAbs(r.Dir) {
		return fmt.Errorf("record: %q: want an absolute path", r.Dir)
	}
	stop, err := h.recordings.start(h.main, r.Dir, r.MaxBytes)
	if err != nil {
		return err
	}
	defer stop()
	h.main.Message("recording   in %s, for another command", terminal.CleanLine(r.Dir))
	var over <-chan time.Time
	if r.For > 0 {
		timer := time.NewTimer(r.For)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
	case <-over:
	}
	h.main.Message("recording   in %s: ended", terminal.CleanLine(r.Dir))
	return nil
}
