module github.com/fondaco/fondaco

go 1.27

toolchain go1.27.0

ignore ./conformance/node_modules

require (
	github.com/coder/websocket v1.8.15
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	go.yaml.in/yaml/v3 v3.0.6
)

require golang.org/x/text v0.14.0 // indirect
