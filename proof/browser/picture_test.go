package browser_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// maxPicture is the size of a picture of README.md, in bytes.
const maxPicture = 150_000

const pictureConfig = `{"mcpServers": {
	"airline": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "airline"}},
	"calendar": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "calendar"}},
	"library": {"command": "SELF", "env": {"CONSOLE_TEST_SERVER": "many"}},
	"tickets": {"url": "http://127.0.0.1:9/mcp"}
}}`

// PICTURES=../../docs/pictures makes the pictures of README.md anew.
func TestPicturesOfTheReadmeAreSmall(t *testing.T) {
	h := up(t, pictureConfig, "--yes")
	for range 6 {
		h.run(t, "call", "airline/status")
		h.run(t, "call", "calendar/status")
	}
	h.run(t, "call", "airline/book", "from=TRN", "to=CTA")
	h.run(t, "call", "airline/book", "from=TRN", "to=TRN") // an error of the tool
	ctx := open(t)
	enter(t, ctx, h)
	for _, scheme := range []string{"light", "dark"} {
		do(t, ctx, look{scheme: scheme, width: 1200, height: 474}.apply(), chromedp.Sleep(300*time.Millisecond))
		shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil || len(shot) > maxPicture {
			t.Fatalf("got %d bytes, %v, want at most %d", len(shot), err, maxPicture)
		}
		if pictures == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(pictures, "console-"+scheme+".png"), shot, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
