package streamhttp

import (
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// pieces gathers what a responder writes at once. Short bytes are copied into the
// next piece, long ones are written where they are, and texts are quoted into one
// piece after the other, so that no answer needs a buffer of its size.
type pieces struct {
	a   *responder
	buf []byte
}

// pieceBuffers hold *[writeAtOnce]byte.
var pieceBuffers = sync.Pool{New: func() any { return new([writeAtOnce]byte) }}

// parts writes a reply between what comes before and behind it.
func (a *responder) parts(before string, reply *dialect.Reply, behind string) {
	if before == "" && behind == "" && len(reply.Parts) == 0 {
		a.write(reply.Body)
		return
	}
	buffer := pieceBuffers.Get().(*[writeAtOnce]byte)
	p := pieces{a: a, buf: append(buffer[:0], before...)}
	done := 0
	for _, part := range reply.Parts {
		p.add(reply.Body[done:part.At])
		p.add(part.JSON)
		p.text(part.Text)
		done = part.At
	}
	p.add(reply.Body[done:])
	p.add([]byte(behind))
	p.flush()
	if a.err == nil { // after a failure somebody may still be reading it
		pieceBuffers.Put(buffer)
	}
}

func (p *pieces) add(b []byte) {
	if len(p.buf)+len(b) > writeAtOnce {
		p.flush()
		whole := len(b) / writeAtOnce * writeAtOnce
		p.a.write(b[:whole])
		b = b[whole:]
	}
	p.buf = append(p.buf, b...)
}

func (p *pieces) text(t rawjson.Text) {
	for p.buf, t = t.Fill(p.buf); t.Size() > 0; p.buf, t = t.Fill(p.buf) {
		p.flush()
	}
}

func (p *pieces) flush() {
	p.a.write(p.buf)
	p.buf = p.buf[:0]
}
