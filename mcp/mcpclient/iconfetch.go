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

// IconImage is the image of an icon, as it came: a stranger's bytes.
type IconImage struct {
	// Data is the image, of at most mcp.MaxIconBytes.
	Data []byte
	// MIMEType is that of the bytes, whatever was said of them: image/png,
	// image/jpeg, image/webp or, if it was allowed, image/svg+xml.
	MIMEType string
	// Width and Height are in pixels, from 1 to 2048 each. An SVG has none.
	Width, Height int
}

// IconOptions say which images of icons a client takes. The zero value takes those
// of the server's own origin.
type IconOptions struct {
	// Origins may have images besides the server's own origin. They begin with
	// https, such as https://cdn.example.com.
	Origins []string
	// Prefixes are addresses that images may come from although they are not
	// public, such as 10.1.0.0/16. The loopback interface is allowed to servers
	// that are on it themselves.
	Prefixes []netip.Prefix
	// SVG takes images that can hold scripts and addresses. Whoever draws one has
	// to run and to fetch nothing of it.
	SVG bool
}

const (
	// maxIconSide bounds the width and the height of an image, in pixels.
	maxIconSide = 2048
	typeSVG     = "image/svg+xml"
)

// Icon returns the image of an icon that the server has named. It is fetched over
// https from the server's own origin or one of Options.Icons, and never from
// addresses that are not public; nothing of the client goes with the request, no
// credentials and no cookies, and redirects stay within the origin. An icon in a
// data URL holds its image. What came is told by its bytes, and refused when it is
// no PNG, JPEG or WebP, when it is large or when it moves. Authorities that the transport of
// Options.HTTP.Client trusts are trusted.
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
	if said := declaredType(icon); said != "" && said != image.MIMEType {
		return nil, fmt.Errorf("icon: found %s, want the declared %.64s", image.MIMEType, said)
	}
	return image, nil
}

// declaredType returns what an icon says that it is, if it does.
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

// fetchIcon gets what a URL leads to, as somebody whom nobody knows.
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

// withoutURL leaves a URL out of an error: its query may hold secrets.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// address returns the URL of the server, or nil for one without.
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

// rootCAs returns whom HTTPClient trusts, or nil for whom the system does.
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
