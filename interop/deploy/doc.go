// Package deploy tests the Dockerfile, the Compose files and the Helm chart of the directory deploy.
// Nothing here runs containers, so the tests start their commands as processes, and loopback
// addresses stand for the names and addresses of services and pods. It is a module of its own,
// because it builds helm.
package deploy
