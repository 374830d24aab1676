package mcp_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

const tinyPNG = "\x89PNG\r\n\x1a\n...."

func dataURL(mimeType, image string) string {
	return "data:" + mimeType + ";base64," + base64.StdEncoding.EncodeToString([]byte(image))
}

func TestIconsAreChecked(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-357a")
	for name, test := range map[string]struct {
		icon mcp.Icon
		want string // "" for an icon that is fine
	}{
		"https":                    {mcp.Icon{Src: "https://example.com/i.png"}, ""},
		"all that it can have":     {mcp.Icon{Src: "HTTPS://example.com:8443/i?x=1", MIMEType: "image/jpg", Sizes: []string{"48x48", "any"}, Theme: mcp.IconDark}, ""},
		"data":                     {mcp.Icon{Src: dataURL("image/png", tinyPNG)}, ""},
		"data, named twice":        {mcp.Icon{Src: dataURL("image/PNG", tinyPNG), MIMEType: "image/png"}, ""},
		"data, JPEG by both names": {mcp.Icon{Src: dataURL("image/jpg", "\xff\xd8\xff"), MIMEType: "image/jpeg"}, ""},
		"data, SVG":                {mcp.Icon{Src: dataURL("image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`)}, ""},

		"http":                {mcp.Icon{Src: "http://example.com/i.png"}, `scheme "http", want https or data`},
		"file":                {mcp.Icon{Src: "file:///etc/passwd"}, "want an absolute URL"},
		"file on a host":      {mcp.Icon{Src: "file://host/etc/passwd"}, `scheme "file"`},
		"script":              {mcp.Icon{Src: "javascript:alert(1)"}, "want an absolute URL"},
		"script with a host":  {mcp.Icon{Src: "javascript://example.com/%0aalert(1)"}, `scheme "javascript"`},
		"ftp":                 {mcp.Icon{Src: "ftp://example.com/i.png"}, `scheme "ftp"`},
		"websocket":           {mcp.Icon{Src: "wss://example.com/"}, `scheme "wss"`},
		"blob":                {mcp.Icon{Src: "blob:https://example.com/1"}, "want an absolute URL"},
		"no host":             {mcp.Icon{Src: "https:///i.png"}, "want an absolute URL"},
		"opaque":              {mcp.Icon{Src: "https:example.com/i.png"}, "want an absolute URL"},
		"relative":            {mcp.Icon{Src: "/i.png"}, "want an absolute URL"},
		"relative to scheme":  {mcp.Icon{Src: "//example.com/i.png"}, `scheme ""`},
		"empty":               {mcp.Icon{}, "want an absolute URL"},
		"a control character": {mcp.Icon{Src: "https://example.com/\n"}, "want an absolute URL"},
		"a user":              {mcp.Icon{Src: "https://user:pw@example.com/i.png"}, "URL with a user"},
		"a very long URL":     {mcp.Icon{Src: "https://example.com/" + strings.Repeat("a", 2048)}, "URL of 2068 bytes"},

		"data that is no base64":      {mcp.Icon{Src: "data:image/png,abc"}, "want the image in base64"},
		"data that is bad base64":     {mcp.Icon{Src: "data:image/png;base64,!!"}, "base64 is not valid"},
		"data without a comma":        {mcp.Icon{Src: "data:image/png;base64"}, "want the image in base64"},
		"data of a page":              {mcp.Icon{Src: dataURL("text/html", "<script>")}, `type "unknown"`},
		"data of a page, as PNG":      {mcp.Icon{Src: dataURL("image/png", "<script>")}, `type "unknown"`},
		"data of a GIF":               {mcp.Icon{Src: dataURL("image/gif", "GIF89a")}, `type "unknown"`},
		"data of a JPEG, as PNG":      {mcp.Icon{Src: dataURL("image/png", "\xff\xd8\xff")}, `type "image/jpeg"`},
		"data of SVG, as PNG":         {mcp.Icon{Src: dataURL("image/png", `<svg xmlns="http://www.w3.org/2000/svg"/>`)}, `type "image/svg+xml"`},
		"data of PNG, overridden":     {mcp.Icon{Src: dataURL("image/png", tinyPNG), MIMEType: "image/svg+xml"}, `type "image/png"`},
		"data of nothing":             {mcp.Icon{Src: "data:image/png;base64,"}, `type "unknown"`},
		"data that is large":          {mcp.Icon{Src: dataURL("image/png", tinyPNG+strings.Repeat("\x00", mcp.MaxIconBytes))}, "want at most 262144"},
		"data in capitals, no base64": {mcp.Icon{Src: "DATA:text/html,<script>"}, "want the image in base64"},
		"a type that is no image":     {mcp.Icon{Src: "https://example.com/i", MIMEType: "text/html"}, `type "text/html"`},
		"a size that is none":         {mcp.Icon{Src: "https://example.com/i", Sizes: []string{"48"}}, `size "48"`},
		"a size beyond every screen":  {mcp.Icon{Src: "https://example.com/i", Sizes: []string{"100000x1"}}, `size "100000x1"`},
		"a theme that is none":        {mcp.Icon{Src: "https://example.com/i", Theme: "pink"}, `theme "pink"`},
	} {
		err := test.icon.Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
