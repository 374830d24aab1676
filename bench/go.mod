module github.com/fondaco/fondaco/bench

go 1.27.0

require github.com/fondaco/fondaco v0.0.0

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/fondaco/fondaco => ../
