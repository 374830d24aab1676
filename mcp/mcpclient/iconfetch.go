package mcpclient

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
)

// IconImage is the image of an icon as it was received. Its bytes are not trusted.
type IconImage struct {
	// Data is the encoded image, of at most mcp.MaxIconBytes.
	Data []byte
	// MIMEType is found in the bytes, whatever the server or the icon declares:
	// image/png, image/jpeg, image/webp or, with IconOptions.SVG, image/svg+xml.
	MIMEType string
	// Width and Height are in pixels, from 1 to 2048 each. For an SVG they are 0.
	Width, Height int
}

// IconOptions say which images Client.Icon accepts. The zero value accepts images of
// the server's own origin.
type IconOptions struct {
	// Origins are accepted besides the server's own origin. Each begins with https,
	// such as https://cdn.example.com.
	Origins []string
	// Prefixes are networks from which images may come although their addresses are
	// not public, such as 10.1.0.0/16. Addresses of the loopback interface are
	// allowed if the server has one itself.
	Prefixes []netip.Prefix
	// SVG accepts SVG images. They can contain scripts and URLs: a program that
	// renders one must not run or fetch them.
	SVG bool
}

const (
	// maxIconSide bounds the width and the height of an image, in pixels.
	maxIconSide = 2048
	typeSVG     = "image/svg+xml"
)

// Icon returns the image of an icon of the server. It fetches the image over https from
// the server's own origin or one of Options.Icons.Origins, and only from public
// addresses and Options.Icons.Prefixes. The request has no credentials and no cookies,
// and redirects stay within the origin. An icon with a data URL contains its image.
//
// The type is found in the bytes. Icon refuses an image that is not PNG, JPEG or WebP,
// is larger than mcp.MaxIconBytes or than 2048 pixels on a side, or is animated. TLS
// trusts the root CAs of the transport of Options.HTTP.Client, if it has some.
//
// Spec: 2026-07-28 basic#icons
func (c *Client) Icon(ctx context.Context, icon mcp.Icon) (*IconImage, error) {
	if err := icon.CheckOrigin(c.address(), c.opts.Icons.Origins...); err != nil {
		return nil, err
	}
	data, err := c.iconData(ctx, icon)
	if err != nil {
		return nil, fmt.Errorf("icon: %w", err)
	}
	image, err := c.opts.Icons.image(data)
	if err != nil {
		return nil, err
	}
	if declared := declaredType(icon); declared != "" && declared != image.MIMEType {
		return nil, fmt.Errorf("icon: found %s, want the declared %.64s", image.MIMEType, declared)
	}
	return image, nil
}

// declaredType returns the media type that an icon declares, or "".
func declaredType(icon mcp.Icon) string {
	kind, _, _ := strings.Cut(icon.MIMEType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if kind == "image/jpg" {
		return "image/jpeg"
	}
	return kind
}

// iconData returns the bytes of an icon that has passed its check.
func (c *Client) iconData(ctx context.Context, icon mcp.Icon) ([]byte, error) {
	u, err := url.Parse(icon.Src)
	if err != nil {
		return nil, errors.New("want an absolute URL, https or data")
	}
	if u.Scheme != "data" {
		return c.fetchIcon(ctx, u)
	}
	_, data, _ := strings.Cut(icon.Src, ",")
	return base64.StdEncoding.DecodeString(data)
}

// fetchIcon gets the content of a URL, with a client of its own that has no credentials.
func (c *Client) fetchIcon(ctx context.Context, u *url.URL) ([]byte, error) {
	client := egress.Guarded(c.iconPolicy())
	defer client.CloseIdleConnections()
	guard := client.CheckRedirect
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if from, to := egress.Origin(u), egress.Origin(req.URL); from != to {
			return fmt.Errorf("redirect from %s to %s refused: want the same scheme, host and port", from, to)
		}
		return guard(req, via)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "image/png, image/jpeg, image/webp")
	resp, err := client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &HTTPError{Status: resp.StatusCode, Header: resp.Header}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, mcp.MaxIconBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the image: %w", withoutURL(err))
	}
	return data, nil
}

// withoutURL removes the URL from an error, because its query may hold secrets.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// address returns the URL of the server, or nil for a target without one.
func (c *Client) address() *url.URL {
	t, ok := c.target.(urlTarget)
	if !ok {
		return nil
	}
	u, err := t.parse()
	if err != nil {
		return nil
	}
	return u
}

func (c *Client) iconPolicy() *egress.Policy {
	server := c.address()
	return &egress.Policy{
		Loopback: server != nil && isLoopback(server.Hostname()),
		Prefixes: c.opts.Icons.Prefixes,
		RootCAs:  c.opts.rootCAs(),
	}
}

// rootCAs returns the root CAs that HTTP.Client trusts, or nil for those of the system.
func (o *Options) rootCAs() *x509.CertPool {
	if o.HTTP.Client == nil {
		return nil
	}
	t, ok := o.HTTP.Client.Transport.(*http.Transport)
	if !ok || t.TLSClientConfig == nil {
		return nil
	}
	return t.TLSClientConfig.RootCAs
}
