package commandfiles

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// codeSuffixes are those of files that are code.
var codeSuffixes = strings.Fields(`.js .mjs .cjs .jsx .ts .mts .cts .tsx .py .pyw .pyc .pyz .whl .rb .pl .pm .php .phar .lua .tcl .r .jl
	.sh .bash .zsh .fish .ksh .csh .ps1 .psm1 .bat .cmd .vbs .wsf .com .exe .dll .so .dylib .node .wasm .jar .war .class .groovy
	.kts .scala .clj .ex .exs .erl .beam .go .rs .swift .dart .nim .cr .cs .csx .fsx .scpt .applescript .awk .sed .mk
	.java .kt .hs .ml .el .elc .lisp .lsp .fasl .scm .ss .rkt .cljc .cljs .fs .vb .zig .v .c .cpp .raku .nix .gradle .coffee .rake .just`)

// isCode reports whether a file is code: by its suffix, its executable bit, or its first
// bytes.
func isCode(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	if isCodeSuffix(name) || name == "makefile" || name == "package.json" || name == "deno.json" || regexp.MustCompile(`\.so\.[0-9.]+$`).MatchString(name) {
		return true
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode()&0o111 != 0 {
		return err == nil
	}
	start := firstBytes(path, 4)
	return bytes.HasPrefix(start, []byte("#!")) || bytes.HasPrefix(start, []byte("\x7fELF")) || bytes.HasPrefix(start, []byte("MZ")) ||
		bytes.HasPrefix(start, []byte("\xcf\xfa\xed\xfe")) || bytes.HasPrefix(start, []byte("\xca\xfe\xba\xbe")) || bytes.HasPrefix(start, []byte("\x00asm"))
}

func isCodeSuffix(name string) bool {
	return slices.Contains(codeSuffixes, strings.ToLower(filepath.Ext(name)))
}

func firstBytes(path string, n int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	start, _ := io.ReadAll(io.LimitReader(f, n))
	return start
}

// shebang returns the words of the first line of a script, without "#!". It is empty for
// other files.
func shebang(path string) []string {
	text, ok := strings.CutPrefix(string(firstBytes(path, 512)), "#!")
	if !ok {
		return nil
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.Fields(line)
}
