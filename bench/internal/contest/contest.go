// Package contest has the common parts of all Go servers in a comparison: flags, tools
// and hooks. So the servers differ only in the library for the protocol.
package contest

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
)

// Config has the flags of a server.
type Config struct {
	Mode  string // stdio or http
	Era   string // 25, with a handshake and sessions, or 26, stateless
	Resp  string // json or sse: how a POST is answered
	Addr  string // where to listen
	Tools int    // how many generated tools to offer besides echo, add and big
}

// Flags declares the flags of a server; flag.Parse fills what it returns.
func Flags() *Config {
	log.SetFlags(0)
	c := new(Config)
	flag.StringVar(&c.Mode, "mode", "stdio", "stdio or http")
	flag.StringVar(&c.Era, "era", "26", "25 or 26")
	flag.StringVar(&c.Resp, "resp", "json", "how a POST is answered: json or sse")
	flag.StringVar(&c.Addr, "addr", "127.0.0.1:0", "where to listen")
	flag.IntVar(&c.Tools, "tools", 0, "how many more tools to offer")
	return c
}

// Serve serves h at /mcp and returns only with an error. Update is called to notify
// subscribers of a change of Item.
func Serve(c *Config, h http.Handler, update func()) error {
	l, err := Listen(c)
	if err != nil {
		return err
	}
	return http.Serve(l, Handler(h, update))
}

// Listen listens at the address in the flags, and prints it for the parent process.
func Listen(c *Config) (net.Listener, error) {
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", c.Addr, err)
	}
	fmt.Fprintf(os.Stderr, "LISTEN %s\n", l.Addr())
	return l, nil
}
