module github.com/fondaco/fondaco

go 1.27

toolchain go1.27.0

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	golang.org/x/text v0.14.0 // indirect
)
