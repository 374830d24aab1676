package oversize_test

import (
	"bytes"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/oversize"
)

func TestEndsOfAMessageAreKept(t *testing.T) {
	t.Parallel()
	text := make([]byte, 5*oversize.MaxPart)
	for i := range text {
		text[i] = byte(i * i / 7)
	}
	for _, size := range []int{0, 1, 100, oversize.MaxPart, oversize.MaxPart + 1, len(text)} {
		for _, step := range []int{1, 7, oversize.MaxPart - 1, oversize.MaxPart, 2 * oversize.MaxPart} {
			var m oversize.Message
			for rest := text[:size]; len(rest) > 0; {
				n := min(step, len(rest))
				m.Add(rest[:n])
				rest = rest[n:]
			}
			kept := min(size, oversize.MaxPart)
			if m.Size != size || !bytes.Equal(m.Head, text[:kept]) || !bytes.Equal(m.Tail, text[size-kept:size]) {
				t.Errorf("%d bytes in steps of %d: got size %d, %d and %d bytes, want the first and last %d", size, step, m.Size, len(m.Head), len(m.Tail), kept)
			}
		}
	}
}
