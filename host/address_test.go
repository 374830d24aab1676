package host

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestAddressWhoseNameMayLookLikeAnotherIsMarked(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-347c")
	for address, want := range map[string]string{
		"https://example.com/a?b":         "",
		"http://127.0.0.1:8080/":          "",
		"http://[::1]:8080/":              "",
		"http://localhost/":               "",
		"https://192.0.2.7/":              "only the number of a computer",
		"https://3221226503/":             "only the number of a computer",
		"https://0xC0000207:8443/":        "only the number of a computer",
		"https://bank.example.0xC7./":     "only the number of a computer",
		"https://7.example/":              "",
		"https://3232235777/":             "only the number of a computer",
		"https://0xC0A80101./":            "only the number of a computer",
		"https://192.0.519/":              "only the number of a computer",
		"https://0x7f.1:8443/":            "only the number of a computer",
		"https://1.example/":              "",
		"https://xn--bcher-kva.example/":  "browsers may show it as bücher.example",
		"https://xn--80ak6aa92e.com/":     "browsers may show it as аррӏе.com, which looks like apple.com and is not",
		"https://XN--80AK6AA92E.com/":     "looks like apple.com and is not",
		"https://pay.xn--e1awd7f.com/x":   "browsers may show it as pay.",
		"https://xn--.com/":               "has none that a browser can show",
		"https://xn--99999999999999.com/": "has none that a browser can show",
		"https://pаypal.com/":             "looks like paypal.com and is not",
		"https://p%d0%b0ypal.com/":        "looks like paypal.com and is not",
		"https://xn--a-.com/":             "browsers may show it as a.com",
	} {
		got := AddressWarning(address)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}
