package audit

import (
	"bytes"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
)

// FuzzRead reads lines and indexes that nobody has written. It finds what makes the readers
// panic, and lines that are accepted without the key.
func FuzzRead(f *testing.F) {
	key := []byte("0123456789abcdef0123456789abcdef")
	r := Record{Decision: host.Decision{Time: time.Unix(0, 0).UTC(), Upstream: "u", Action: host.ActionCall, Outcome: host.OutcomeDone}, Writer: "W", Sequence: 1}
	line, err := r.encode(key)
	if err != nil {
		f.Fatal(err)
	}
	slot, err := encodeSlot(key, codeOfWriter, writerState{Writer: "W", Sequence: 1, Last: r.Code})
	if err != nil {
		f.Fatal(err)
	}
	head, err := encodeSlot(key, codeOfIndex, indexHead{Writers: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(append(bytes.Clone(line[:40]), line...))
	f.Add(append(bytes.Clone(head), slot...))
	f.Add([]byte(codePrefix + "0123456789abcdef0123456789abcdef" + codeSuffix))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, partial, err := decodeLine(key, text); err == nil && (!bytes.HasSuffix(bytes.TrimSuffix(text, []byte("\n")), bytes.TrimSuffix(line, []byte("\n"))) || got.Code != r.Code || partial != (len(bytes.TrimSuffix(text, []byte("\n"))) >= len(line))) {
			t.Errorf("got %+v, want no line accepted but the one that was written", got)
		}
		for _, w := range readIndex(key, text).writers {
			if w.Writer != "W" || w.Sequence != 1 {
				t.Errorf("got %+v, want no writer but the one that was written", w)
			}
		}
		_ = incomplete(append([]byte("{"), text...))
	})
}
