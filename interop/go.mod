module github.com/fondaco/fondaco/interop

go 1.27.0

ignore ./node_modules

require github.com/fondaco/fondaco v0.0.0

require (
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/fondaco/fondaco => ../
