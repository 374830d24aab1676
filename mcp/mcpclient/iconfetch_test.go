package mcpclient_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// gallery is a server over https with images besides.
type gallery struct {
	*httptest.Server
	serve func(w http.ResponseWriter, r *http.Request)

	mu  sync.Mutex
	got []*http.Request // for images
}

func hang(t *testing.T, serve func(w http.ResponseWriter, r *http.Request)) *gallery {
	t.Helper()
	g := &gallery{serve: serve}
	endpoint := statelessWeb(nil)
	g.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			(&webServer{handle: endpoint}).ServeHTTP(w, r)
			return
		}
		g.mu.Lock()
		g.got = append(g.got, r)
		g.mu.Unlock()
		g.serve(w, r)
	}))
	t.Cleanup(g.Server.Close)
	return g
}

// visitor is a client with secrets of every kind.
func (g *gallery) visitor(t *testing.T, icons mcpclient.IconOptions) *mcpclient.Client {
	return connect(t, mcpclient.URL(g.URL+"/mcp"), &mcpclient.Options{
		HTTP: mcpclient.HTTPOptions{Client: g.Client(), Auth: new(ring), Header: http.Header{"X-Key": {"k"}, "Cookie": {"a=b"}}}, Icons: icons,
	})
}

func show(data []byte) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }
}

func pngOf(width, height int) []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)))
	return b.Bytes()
}

func jpegOf(width, height int) []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil)
	return b.Bytes()
}

// webpOf returns the head of an image in WebP.
func webpOf(form string, payload ...byte) []byte {
	return append([]byte("RIFF\x1e\x00\x00\x00WEBP"+form+"\x0a\x00\x00\x00"), payload...)
}

// claiming is a small PNG that claims to be large.
func claiming(width, height uint32) []byte {
	data := pngOf(1, 1)
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

const scripted = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`

func TestImagesOfIconsAreFetchedWithoutCredentials(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-357a", "R-358")
	for name, test := range map[string]struct {
		data []byte
		want mcpclient.IconImage
	}{
		"PNG":           {pngOf(48, 32), mcpclient.IconImage{MIMEType: "image/png", Width: 48, Height: 32}},
		"JPEG":          {jpegOf(2048, 1), mcpclient.IconImage{MIMEType: "image/jpeg", Width: 2048, Height: 1}},
		"lossy WebP":    {webpOf("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 48, 0x40, 32, 0x80), mcpclient.IconImage{MIMEType: "image/webp", Width: 48, Height: 32}},
		"lossless WebP": {webpOf("VP8L", 0x2f, 47, 0xc0, 7, 0, 0, 0, 0, 0, 0), mcpclient.IconImage{MIMEType: "image/webp", Width: 48, Height: 32}},
		"extended WebP": {webpOf("VP8X", 0, 0, 0, 0, 47, 0, 0, 31, 0, 0), mcpclient.IconImage{MIMEType: "image/webp", Width: 48, Height: 32}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := hang(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/moved.png" {
					http.Redirect(w, r, "/icon", http.StatusFound)
					return
				}
				http.SetCookie(w, &http.Cookie{Name: "who", Value: "you"})
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write(test.data)
			})
			c := g.visitor(t, mcpclient.IconOptions{})
			carried := "data:" + test.want.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(test.data)
			for _, src := range []string{g.URL + "/icon", g.URL + "/moved.png", carried} {
				got, err := c.Icon(t.Context(), mcp.Icon{Src: src, MIMEType: test.want.MIMEType})
				if err != nil {
					t.Fatalf("%.40s: %v", src, err)
				}
				if !bytes.Equal(got.Data, test.data) || got.MIMEType != test.want.MIMEType || got.Width != test.want.Width || got.Height != test.want.Height {
					t.Errorf("%.40s: got %s of %dx%d", src, got.MIMEType, got.Width, got.Height)
				}
			}
			if len(g.got) != 3 {
				t.Errorf("asked %d times, want 3", len(g.got))
			}
			for _, r := range g.got {
				for _, name := range []string{"Authorization", "Cookie", "X-Key", "Mcp-Session-Id", "Mcp-Protocol-Version"} {
					if r.Header.Get(name) != "" {
						t.Errorf("%s: %s was sent", r.URL, name)
					}
				}
			}
		})
	}
}

func TestImagesThatAreUnfitAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-358")
	for name, test := range map[string]struct {
		data []byte
		said string
		want string
	}{
		"a page":                {[]byte("<html>"), "", "unknown kind of image"},
		"nothing":               {nil, "", "unknown kind of image"},
		"a script in SVG":       {[]byte(scripted), "", "found SVG"},
		"SVG that says PNG":     {[]byte(scripted), "image/png", "found SVG"},
		"JPEG that says PNG":    {jpegOf(1, 1), "image/png", "found image/jpeg, want the declared image/png"},
		"too many bytes":        {append(pngOf(1, 1), make([]byte, 256<<10)...), "", "want at most 262144"},
		"a large PNG":           {claiming(30000, 30000), "", "30000x30000 pixels: want from 1 to 2048 each"},
		"a wide JPEG":           {jpegOf(2049, 1), "", "2049x1 pixels"},
		"a large lossy WebP":    {webpOf("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 1, 0x08, 1, 0), "", "2049x1 pixels"},
		"a large lossless WebP": {webpOf("VP8L", 0x2f, 0, 0x08, 0, 0, 0, 0, 0, 0, 0), "", "2049x1 pixels"},
		"a large extended WebP": {webpOf("VP8X", 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), "", "1x65537 pixels"},
		"no pixels":             {webpOf("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 0, 0, 1, 0), "", "0x1 pixels"},
		"half a PNG":            {pngOf(1, 1)[:20], "", "image/png: unexpected EOF"},
		"half a WebP":           {webpOf("VP8L", 0x2f), "", "the image is truncated"},
		"a strange WebP":        {webpOf("VP8Z", make([]byte, 10)...), "", "header of the image is invalid"},
		"a moving PNG":          {bytes.Replace(pngOf(1, 1), []byte("IDAT"), []byte("acTL\x00\x00IDAT"), 1), "", "the image is animated"},
		"a moving WebP":         {webpOf("VP8X", 2, 0, 0, 0, 0, 0, 0, 0, 0, 0), "", "the image is animated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := hang(t, show(test.data))
			got, err := g.visitor(t, mcpclient.IconOptions{}).Icon(t.Context(), mcp.Icon{Src: g.URL + "/i.png", MIMEType: test.said})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Count(err.Error(), "icon: ") != 1 {
				t.Errorf("got %v, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestSVGIsAcceptedIfEnabled(t *testing.T) {
	t.Parallel()
	g := hang(t, show([]byte(scripted)))
	c := g.visitor(t, mcpclient.IconOptions{SVG: true})
	if got, err := c.Icon(t.Context(), mcp.Icon{Src: g.URL + "/i.svg"}); err != nil || got.MIMEType != "image/svg+xml" || got.Width != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestIconsAreFetchedOnlyFromTheOriginOfTheServer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-357a", "R-357b")
	elsewhere := hang(t, show(pngOf(1, 1)))
	plain := httptest.NewServer(http.HandlerFunc(elsewhere.serve))
	defer plain.Close()
	g := hang(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, elsewhere.URL+"/i.png", http.StatusFound)
		case "/plain":
			http.Redirect(w, r, "http"+strings.TrimPrefix(elsewhere.URL, "https")+"/i.png", http.StatusFound)
		case "/unsafe":
			http.Redirect(w, r, plain.URL+"/i.png", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			http.Error(w, "secret banner", http.StatusTeapot)
		}
	})
	c := g.visitor(t, mcpclient.IconOptions{})
	for src, want := range map[string]string{
		elsewhere.URL + "/i.png":         "want that of the server, or a trusted one",
		plain.URL + "/i.png":             `URL with scheme "http"`,
		"file:///etc/passwd":             "want an absolute URL, https or data",
		"javascript:alert(1)":            "want an absolute URL, https or data",
		"https://a:b@127.0.0.1/i.png":    "URL with a user",
		g.URL + "/away":                  "redirect from " + g.URL + " to " + elsewhere.URL + " refused",
		g.URL + "/plain":                 "refused: want the same scheme, host and port",
		g.URL + "/unsafe":                "refused: want the same scheme, host and port",
		g.URL + "/round?key=secret":      "at most 3 in a row",
		g.URL + "/missing?key=secret":    "HTTP 418",
		"data:text/html;base64,PGh0bWw+": "found an image of type",
		"data:image/png,notbase64":       "want the image in base64",
		"data:image/png;base64,!!":       "the base64 is not valid",
		"data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(scripted)): "found SVG",
	} {
		if got, err := c.Icon(t.Context(), mcp.Icon{Src: src}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, %v, want %q", src, got, err, want)
		}
	}
	if len(elsewhere.got) != 0 {
		t.Errorf("the other origin was asked %d times", len(elsewhere.got))
	}
	trusting := g.visitor(t, mcpclient.IconOptions{Origins: []string{elsewhere.URL}})
	if _, err := trusting.Icon(t.Context(), mcp.Icon{Src: elsewhere.URL + "/i.png"}); err != nil || len(elsewhere.got) != 1 {
		t.Errorf("an origin that is trusted: %v, asked %d times", err, len(elsewhere.got))
	}
}

// A server that is not on loopback itself, here a command, has no way to it.
func TestIconsAreNotFetchedFromPrivateAddresses(t *testing.T) {
	t.Parallel()
	g := hang(t, show(pngOf(1, 1)))
	_, target := serve(t, stateless(nil))
	icon := mcp.Icon{Src: g.URL + "/i.png"}
	fetch := func(o mcpclient.IconOptions) error {
		_, err := connect(t, target, &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Client: g.Client()}, Icons: o}).Icon(t.Context(), icon)
		return err
	}
	if err := fetch(mcpclient.IconOptions{}); err == nil || !strings.Contains(err.Error(), "or a trusted one") {
		t.Errorf("without an origin: got %v", err)
	}
	if err := fetch(mcpclient.IconOptions{Origins: []string{g.URL}}); err == nil || !strings.Contains(err.Error(), "connection to 127.0.0.1 blocked") || len(g.got) != 0 {
		t.Errorf("got %v, asked %d times", err, len(g.got))
	}
	if err := fetch(mcpclient.IconOptions{Origins: []string{g.URL}, Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}); err != nil {
		t.Errorf("where the prefix is allowed: %v", err)
	}
}
