// Package browser tests the console of a host in a real Chromium, as a person uses it. It needs
// Chromium, or the path of a browser in $CHROMIUM, and axe-core, which npm ci installs. With $PICTURES it
// keeps pictures of the pages in that directory.
package browser
