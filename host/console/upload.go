package console

import (
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"strings"
)

// readForm reads a form into PostForm. A file becomes a value of its name, in base64, and one with its media type.
func readForm(r *http.Request) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "multipart/form-data" {
		r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
		return r.ParseForm()
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxFileForm)
	if err := r.ParseMultipartForm(maxFileForm); err != nil { // in memory
		return err
	}
	defer r.MultipartForm.RemoveAll()
	for name, files := range r.MultipartForm.File {
		for _, header := range files {
			if header.Filename == "" {
				continue // none was chosen
			}
			f, err := header.Open()
			if err != nil {
				return err
			}
			var text strings.Builder
			encoder := base64.NewEncoder(base64.StdEncoding, &text)
			_, err = io.Copy(encoder, f)
			_ = encoder.Close() // it writes to memory
			_ = f.Close()
			if err != nil {
				return err
			}
			r.PostForm.Add(name, text.String())
			kind, _, err := mime.ParseMediaType(header.Header.Get("Content-Type"))
			if err != nil {
				kind = "application/octet-stream"
			}
			r.PostForm.Add(name+mediaTypeMark, kind)
		}
	}
	return nil
}
