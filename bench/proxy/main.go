// Command proxy is the reverse proxy of the standard library, to which the gateway is
// compared. It does not parse the messages.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("proxy: ")
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	to := flag.String("to", "", "the URL of the server behind")
	flag.Parse()
	log.Fatal(serve(*addr, *to))
}

func serve(addr, to string) error {
	behind, err := url.Parse(to)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "LISTEN %s\n", l.Addr())
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100 // as many as the gateway keeps, so that neither makes new ones under load
	return http.Serve(l, &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(behind) },
		Transport: transport,
	})
}
