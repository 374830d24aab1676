// Connect calls a tool of a protected server.
//
//	connect [-print] [-keep DIR] [-machine ISSUER] URL TOOL
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func main() {
	log.SetFlags(0)
	show := flag.Bool("print", false, "print the address to sign in at, and open no browser")
	keep := flag.String("keep", "", "keep tokens in this `directory`, sealed with TOKEN_KEY")
	machine := flag.String("machine", "", "do not sign in: be the robot of this `issuer`, with ROBOT_SECRET")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	opts, err := options(*show, *keep, *machine)
	if err == nil {
		err = call(ctx, mcpauth.NewClient(opts), flag.Arg(0), flag.Arg(1))
	}
	if errors.Is(err, mcpauth.ErrDenied) {
		log.Fatal("signing in again would not help: ", err)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func call(ctx context.Context, auth *mcpauth.Client, url, tool string) error {
	c, err := mcpclient.Connect(ctx, mcpclient.URL(url), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: auth}})
	if err != nil {
		return err
	}
	defer c.Close()
	text, err := c.Call[string](ctx, tool, nil)
	if err != nil {
		return err
	}
	fmt.Println(text)
	return nil
}

func options(show bool, keep, machine string) (*mcpauth.ClientOptions, error) {
	opts := &mcpauth.ClientOptions{Name: "Reports"}
	if show {
		opts.Browser = func(_ context.Context, address string) error {
			_, err := fmt.Println("sign in at", address)
			return err
		}
	}
	if machine != "" {
		opts.Grant = robot(machine)
	}
	if keep == "" {
		return opts, nil
	}
	key, err := base64.StdEncoding.DecodeString(os.Getenv("TOKEN_KEY"))
	if err != nil {
		return nil, errors.New("TOKEN_KEY: want 32 bytes in base64")
	}
	opts.Store, err = mcpauth.FileStore(keep, key)
	return opts, err
}

func robot(issuer string) mcpauth.Grant {
	return &mcpauth.ClientCredentials{
		Issuer: issuer,
		ID:     "robot",
		Secret: mcpauth.Secret(os.Getenv("ROBOT_SECRET")),
		Scopes: []string{"reports:publish"},
	}
}
