package exchange

import (
	"crypto/tls"
	"net"
	"net/http"
)

// HTTPRequest holds the parts of an HTTP request that limits and user code may read: of the
// request that carried a message, or that opened its connection. It has neither the body nor
// the context of the request. The zero value means that there was no HTTP request.
type HTTPRequest struct {
	Header http.Header          // nil only in the zero value
	TLS    *tls.ConnectionState // nil without TLS
	// RemoteAddr is the sender's address as net/http gives it.
	RemoteAddr string
	// LocalAddr is the address at which the request was received, or nil if it is unknown.
	LocalAddr net.Addr
}

// DescribeHTTP returns the HTTPRequest of r, which may be nil.
func DescribeHTTP(r *http.Request) HTTPRequest {
	if r == nil {
		return HTTPRequest{}
	}
	h := r.Header
	if h == nil {
		h = make(http.Header)
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return HTTPRequest{Header: h, TLS: r.TLS, RemoteAddr: r.RemoteAddr, LocalAddr: local}
}

// IsZero reports whether the message did not come over HTTP.
func (h *HTTPRequest) IsZero() bool { return h.Header == nil }

// OnLoopback reports whether the request was received at a loopback address. It returns true
// if the address is unknown.
func (h *HTTPRequest) OnLoopback() bool {
	if h.LocalAddr == nil {
		return true
	}
	addr, ok := h.LocalAddr.(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// SizeOfHeader returns about how many bytes the headers of a request take in memory.
func SizeOfHeader(h http.Header) (size int) {
	const field = 64
	for name, values := range h {
		size += field + len(name)
		for _, v := range values {
			size += len(v)
		}
	}
	return size
}
