package streamhttp

import (
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// chunkWriter collects short byte slices into one write of a responder. It writes long
// slices directly, and quotes texts chunk by chunk, so that no answer needs a buffer of its
// own size.
type chunkWriter struct {
	a   *responder
	buf []byte
}

// chunkBuffers holds values of type *[writeAtOnce]byte.
var chunkBuffers = sync.Pool{New: func() any { return new([writeAtOnce]byte) }}

// writeChunks writes everything that f adds to its chunkWriter.
func (a *responder) writeChunks(f func(p *chunkWriter)) {
	buffer := chunkBuffers.Get().(*[writeAtOnce]byte)
	p := chunkWriter{a: a, buf: buffer[:0]}
	f(&p)
	p.flush()
	if a.err == nil { // after a failure net/http may still read it
		chunkBuffers.Put(buffer)
	}
}

func (p *chunkWriter) reply(r *dialect.Reply) {
	done := 0
	for _, part := range r.Parts {
		p.add(r.Body[done:part.At])
		p.add(part.JSON)
		p.text(part.Text)
		done = part.At
	}
	p.add(r.Body[done:])
}

func (p *chunkWriter) add(b []byte) {
	if len(p.buf)+len(b) > writeAtOnce {
		p.flush()
		whole := len(b) / writeAtOnce * writeAtOnce
		p.a.write(b[:whole])
		b = b[whole:]
	}
	p.buf = append(p.buf, b...)
}

func (p *chunkWriter) text(t rawjson.Text) {
	for p.buf, t = t.Fill(p.buf); t.Size() > 0; p.buf, t = t.Fill(p.buf) {
		p.flush()
	}
}

func (p *chunkWriter) flush() {
	p.a.write(p.buf)
	p.buf = p.buf[:0]
}
