package streamhttp

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// checkContent refuses a body that is not plain JSON. Since browsers send
// application/json across origins only after asking, this also keeps out forms.
func checkContent(h http.Header) *refusal {
	if len(h[httpheader.ContentEncoding]) > 0 {
		return refuse(http.StatusUnsupportedMediaType, "content encoding: want none")
	}
	types := h[httpheader.ContentType]
	if len(types) != 1 || !isJSON(types[0]) {
		return refuse(http.StatusUnsupportedMediaType, "content type %q: want %s", clip(strings.Join(types, ", ")), httpheader.TypeJSON)
	}
	return nil
}

func isJSON(contentType string) bool {
	if contentType == httpheader.TypeJSON {
		return true
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != httpheader.TypeJSON {
		return false
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

// checkAccept refuses a client that does not take all of the media types.
//
// Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
func checkAccept(h http.Header, types ...string) *refusal {
	if accept := h[httpheader.Accept]; len(accept) == 1 && accept[0] == bothTypes {
		return nil
	}
	for _, t := range types {
		if !accepts(h[httpheader.Accept], t) {
			return refuse(http.StatusNotAcceptable, "accept header: want %s", strings.Join(types, ", "))
		}
	}
	return nil
}

// bothTypes is what nearly every client accepts.
const bothTypes = httpheader.TypeJSON + ", " + httpheader.TypeEventStream

// accepts reports whether the Accept headers admit a media type: the most
// specific range that covers it decides, and none at all admits everything.
//
// Spec: RFC 9110 12.5.1
func accepts(headers []string, mediaType string) bool {
	if len(headers) == 0 {
		return true
	}
	family, _, _ := strings.Cut(mediaType, "/")
	best, admitted := 0, false
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			kind, quality := parseRange(part)
			specificity := 0
			switch kind {
			case mediaType:
				specificity = 3
			case family + "/*":
				specificity = 2
			case "*/*":
				specificity = 1
			}
			if specificity > best {
				best, admitted = specificity, false
			}
			if specificity > 0 && specificity == best {
				admitted = admitted || quality > 0
			}
		}
	}
	return admitted
}

// parseRange splits a media range into its type and its quality, which is 1
// unless it says otherwise and 0 when it cannot be read.
func parseRange(s string) (mediaType string, quality float64) {
	mediaType, params, _ := strings.Cut(s, ";")
	quality = 1
	for param := range strings.SplitSeq(params, ";") {
		if name, value, ok := strings.Cut(param, "="); ok && strings.EqualFold(strings.TrimSpace(name), "q") {
			quality, _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return strings.ToLower(strings.TrimSpace(mediaType)), quality
}

// wantsPage reports whether a person opened the address in a browser.
func wantsPage(h http.Header) bool {
	for _, header := range h[httpheader.Accept] {
		for part := range strings.SplitSeq(header, ",") {
			if kind, quality := parseRange(part); kind == "text/html" && quality > 0 {
				return true
			}
		}
	}
	return false
}
