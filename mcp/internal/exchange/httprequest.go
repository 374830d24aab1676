package exchange

import (
	"crypto/tls"
	"net"
	"net/http"
)

// HTTPRequest is what limits and user code may read of the HTTP request that
// carried a message, or that opened its connection. It holds neither the body
// nor the context of the request. The zero value means that there was none.
type HTTPRequest struct {
	Header http.Header          // nil only in the zero value
	TLS    *tls.ConnectionState // nil without TLS
	// RemoteAddr is the sender's address as net/http gives it.
	RemoteAddr string
	// LocalAddr is the address to which the request came, or nil when nobody knows.
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

// OnLoopback reports whether the request came to a loopback address. It is true
// where the address is not known.
func (h *HTTPRequest) OnLoopback() bool {
	if h.LocalAddr == nil {
		return true
	}
	addr, ok := h.LocalAddr.(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}
