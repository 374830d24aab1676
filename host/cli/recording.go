package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
)

var recordEntry = commandInfo{
	name: "record", operands: "DIR", does: "record the messages of the running host",
	about: `Each session is one file in DIR, with the bodies of its messages and without
secrets, until Ctrl-C or --for. Of a session that has begun before, the file
has the handshake and the rest. "replay" and "diff" read the files; up --record
records from the start.`,
	example: "record ./recordings --for 1m",
	make:    func() command { return new(recordCommand) },
}

type recordCommand struct {
	output
	request control.RecordRequest
	size    int64
}

// declareRecordingSize declares the flag for the size of a directory of recordings.
func declareRecordingSize(f *flag.FlagSet, name string, mebibytes *int64) {
	f.Int64Var(mebibytes, name, traffic.DefaultDirectoryBytes>>20, "keep the newest `MIB` MiB of recordings; default 256")
}

func (v *recordCommand) declare(f *flag.FlagSet) {
	f.BoolVar(&v.quiet, "q", false, "print errors only")
	f.DurationVar(&v.request.For, "for", 0, "end after a `TIME` such as 1m")
	declareRecordingSize(f, "size", &v.size)
}

func (v *recordCommand) run(ctx context.Context, m *Main, operands []string) (err error) {
	if len(operands) != 1 {
		return usagef("found %d operands, want one directory", len(operands))
	}
	if v.size < 1 {
		return usagef("--size %d: want at least 1, in MiB", v.size)
	}
	if v.request.Dir, err = filepath.Abs(operands[0]); err != nil {
		return err
	}
	v.request.MaxBytes = v.size << 20
	r, err := m.runningHost(ctx)
	if err != nil {
		return err
	}
	if r == nil {
		return codedErrorf(exitUnreachable, "no host is running; %s up --record %s records from its start", m.program(), host.ShellQuote(operands[0]))
	}
	if v.request.For == 0 {
		m.Info("recording in %s; Ctrl-C ends it", operands[0])
	} else {
		m.Info("recording in %s for %v; Ctrl-C ends it", operands[0], v.request.For)
	}
	err = r.client.Record(ctx, v.request)
	switch {
	case err == nil, ctx.Err() != nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return codedErrorf(exitUnreachable, "the host has ended; what it has recorded is in %s", operands[0])
	}
	return err
}

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
