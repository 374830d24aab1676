package streamhttp

import (
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// pieces collects short byte slices into one write of a responder. Long slices are
// written directly, and texts are quoted into one piece after the other, so that no
// answer needs a buffer of its size.
type pieces struct {
	a   *responder
	buf []byte
}

// pieceBuffers hold *[writeAtOnce]byte.
var pieceBuffers = sync.Pool{New: func() any { return new([writeAtOnce]byte) }}

// gather writes what f adds.
func (a *responder) gather(f func(p *pieces)) {
	buffer := pieceBuffers.Get().(*[writeAtOnce]byte)
	p := pieces{a: a, buf: buffer[:0]}
	f(&p)
	p.flush()
	if a.err == nil { // after a failure net/http may still read it
		pieceBuffers.Put(buffer)
	}
}

func (p *pieces) reply(r *dialect.Reply) {
	done := 0
	for _, part := range r.Parts {
		p.add(r.Body[done:part.At])
		p.add(part.JSON)
		p.text(part.Text)
		done = part.At
	}
	p.add(r.Body[done:])
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
