package redisstore

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options configures a Store. The zero value of a field is its default.
type Options struct {
	// Namespace is the beginning of all names in Redis. Stores with different namespaces share
	// nothing. It has 1 to 64 letters, digits, dots, hyphens and underscores. Default: "fondaco".
	Namespace string

	// TLS configures the connections of a rediss URL. Default: TLS 1.2 or newer, and the
	// certificate authorities of the system. With another URL it is an error.
	TLS *tls.Config

	// User and Password replace those of the URL if they are not empty.
	User, Password string

	// Logger gets lost connections of the Bus, and a warning if the server may evict values.
	// Default: slog.Default().
	Logger *slog.Logger

	// Timeout bounds each call, the connection to the server included. A context that ends
	// earlier ends the call earlier. Default: 5 seconds.
	Timeout time.Duration

	// MaxEventBytes bounds the events of all streams of the namespace, in bytes, each counting 64
	// more than it has. When it is reached, the streams that got no event for longest are removed
	// first. Default: 256 MiB.
	MaxEventBytes int64

	// MaxEventAge is the time after the last event of a stream when all its events expire.
	// Default: 1 hour.
	MaxEventAge time.Duration
}

var validNamespace = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// withDefaults returns a copy of the options, which may be nil, with the defaults.
func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	c.Namespace = cmp.Or(c.Namespace, "fondaco")
	if !validNamespace.MatchString(c.Namespace) {
		return c, fmt.Errorf("namespace %q: want 1 to 64 letters, digits, dots, hyphens and underscores", c.Namespace)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Timeout < 0 || c.MaxEventAge < 0 || c.MaxEventBytes < 0 {
		return c, errors.New("a limit below 0: want Timeout, MaxEventAge and MaxEventBytes above 0, or 0 for the default")
	}
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.MaxEventAge = cmp.Or(c.MaxEventAge, time.Hour)
	c.MaxEventBytes = cmp.Or(c.MaxEventBytes, 256<<20)
	return c, nil
}

// errURL says nothing about the URL itself, because what cannot be parsed may be a part of the
// password.
var errURL = errors.New("the URL cannot be parsed: want redis://user:password@host:port/database, " +
	"with special characters of the password in percent-encoding")

// parseURL returns the options of the connection to a URL.
func parseURL(text string, o Options) (*redis.Options, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return nil, errURL
	}
	opts := &redis.Options{Network: "tcp", Username: o.User, Password: o.Password}
	if o.User == "" {
		opts.Username = u.User.Username()
	}
	if password, _ := u.User.Password(); o.Password == "" {
		opts.Password = password
	}
	database := strings.Trim(u.Path, "/")
	switch u.Scheme {
	case "redis", "rediss":
		opts.Addr = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
	case "unix":
		opts.Network, opts.Addr, database = "unix", u.Path, ""
		if u.Host != "" || u.Path == "" {
			return nil, errors.New("a unix URL: want unix:///path/of/the/socket, or unix://user:password@/path")
		}
	default:
		return nil, errors.New("scheme of the URL: want redis, rediss or unix")
	}
	for name := range u.Query() {
		if name != "db" {
			return nil, errors.New("the URL has parameters besides db: want Options for everything else")
		}
	}
	opts.DB, err = strconv.Atoi(cmp.Or(database, u.Query().Get("db"), "0"))
	if err != nil || opts.DB < 0 {
		return nil, errors.New("the database in the URL: want a number, as in redis://host/1 or unix:///path?db=1")
	}
	if u.Scheme == "rediss" {
		opts.TLSConfig = o.tlsConfig()
	} else if o.TLS != nil {
		return nil, fmt.Errorf("TLS is configured for a URL of scheme %s: want rediss", u.Scheme)
	}
	return opts, nil
}

// tlsConfig returns the configuration for TLS. Without ServerName, the certificate has to be one
// for the host of the URL, and for each other host of a cluster.
func (o *Options) tlsConfig() *tls.Config {
	if o.TLS == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return o.TLS.Clone()
}
