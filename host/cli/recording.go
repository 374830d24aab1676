package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"path/filepath"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/traffic"
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
