package httpserver

import "net/http"

// refuseHTTP answers a request whose body nobody reads. A client that announces a body gets the
// answer at once, and its connection ends: net/http would otherwise wait for the body first.
func refuseHTTP(w http.ResponseWriter, r *http.Request, text string, status int) {
	if r.ContentLength != 0 && r.ProtoMajor == 1 { // HTTP/2 ends the stream alone
		w.Header().Set("Connection", "close")
	}
	http.Error(w, text, status)
}
