package compatibility

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"

	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var quietLog = log.New(io.Discard, "", 0)

// nameVariable begins the variables that have the address of a name.
const nameVariable = "FONDACO_COMPATIBILITY_NAME_"

// visit calls a tool of a server, in a process whose environment is that of a network, and prints the
// result.
func visit(at string) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: dialResolver}
	o := clientOptions()
	o.HTTP.Auth = mcpauth.NewClient(&mcpauth.ClientOptions{Grant: &mcpauth.ClientCredentials{Issuer: "https://id.example", ID: "robot", Secret: "secret"}})
	ctx, cancel := context.WithTimeout(context.Background(), hangTime)
	defer cancel()
	text, err := "", error(nil)
	c, err := mcpclient.Connect(ctx, mcpclient.URL(cmp.Or(at, "https://mcp.example/mcp")), o)
	if err == nil {
		text, err = c.Call[string](ctx, "echo", map[string]string{"text": "hello"})
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
	fmt.Print(text)
	os.Exit(0)
}

// dialResolver connects to the resolver of a network, which knows the names of nameVariable alone.
func dialResolver(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		for {
			var size [2]byte
			if _, err := io.ReadFull(there, size[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(there, query); err != nil {
				return
			}
			reply := resolve(query)
			if _, err := there.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
				return
			}
		}
	}()
	return here, nil
}

// resolve answers one query (RFC 1035) for the address of a name.
func resolve(query []byte) []byte {
	const header = 12
	var labels []string
	end := header
	for query[end] != 0 {
		next := end + 1 + int(query[end])
		labels = append(labels, string(query[end+1:next]))
		end = next
	}
	isA := binary.BigEndian.Uint16(query[end+1:]) == 1
	question := query[header : end+5]
	addr := net.ParseIP(os.Getenv(nameVariable + strings.ToLower(strings.Join(labels, ".")))).To4()
	flags, answers := uint16(0x8180), uint16(0)
	switch {
	case addr == nil:
		flags = 0x8183 // no such name
	case isA:
		answers = 1
	}
	reply := append([]byte(nil), query[:2]...)
	for _, n := range []uint16{flags, 1, answers, 0, 0} {
		reply = binary.BigEndian.AppendUint16(reply, n)
	}
	reply = append(reply, question...)
	if answers > 0 {
		reply = append(reply, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4)
		reply = append(reply, addr...)
	}
	return reply
}
