//go:build unix

package commandfiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const composeFile = `
services:
  server:
    image: example/server
    env_file: [settings, {path: "\x6dore"}]
    extends: {file: base.yaml, service: server}
    volumes:
      - ./data.db:/data.db
      - ./files:/files
      - ./mounted:/mounted
      - {type: bind, source: ./other, target: /other}
    build: {context: ./image, dockerfile: Recipe}
  second:
    build: ./second
    volumes:
      - {type: bind, source: ./mounted.conf, target: /etc}
    env_file: ${FILE}
include: [{path: included, project_directory: sub}]
secrets:
  key: {file: ./secret.txt}
`

// Files of Compose choose the image, its command, and what of the machine it can read.
func TestFilesOfComposeAreFound(t *testing.T) {
	t.Parallel()
	docker := []string{"docker", "compose", "run", "--rm", "server"}
	m := newMachine(t)
	for _, program := range []string{"docker-compose", "podman"} {
		m.write("usr/bin/"+program, "\x7fELF "+program)
	}
	m.write("proj/compose.yaml", composeFile)
	m.write("proj/plain", "services: {server: {env_file: plainfile}}")
	m.link("proj/link", m.path("proj/sub/inner"))
	m.write("proj/sub/inner/data", "x")
	m.write("proj/behind", "x")
	m.write("proj/sub/behind", "x")
	m.write("proj/.env", "A=b\nexport COMPOSE_FILE=\"compose.yaml:more.compose\" # text\n")
	m.write("proj/more.compose", "services: {server: {env_file: moresettings}}")
	m.write("proj/sub/second", "services: {server: {env_file: ./own, extends: {file: ./extended, service: server}}}")
	m.write("proj/extended", "services: {server: {env_file: extendedenv}}")
	m.write("proj/included", "services: {server: {env_file: ./settings}}")
	m.write("proj/base.yaml", "services: {server: {env_file: baseenv}}")
	m.write("proj/settings", "COMPOSE_FILE=more.compose")
	for _, file := range []string{"more", "secret.txt", "image/Recipe", "second/Dockerfile", "plainfile", "baseenv", "sub/data", "mounted", "mounted.conf", "own", "extendedenv", "moresettings", "sub/settings", "data.db"} {
		m.write("proj/"+file, "x")
	}
	for name, test := range map[string]struct {
		words   []string
		env     map[string]string
		changed string
	}{
		"file of the working directory":       {words: docker, changed: "proj/compose.yaml"},
		"file above the working directory":    {words: docker, changed: "docker-compose.yml"},
		"override that appears":               {words: docker, changed: "proj/compose.override.yaml"},
		"variables":                           {words: docker, changed: "proj/.env"},
		"file among the arguments":            {words: []string{"docker", "compose", "-f", "plain", "up"}, changed: "proj/plain"},
		"file that such a file names":         {words: []string{"docker", "compose", "-f", "plain", "up"}, changed: "proj/plainfile"},
		"file of the old program":             {words: []string{"docker-compose", "--file=plain", "up"}, changed: "proj/plain"},
		"file of podman":                      {words: []string{"podman", "compose", "up"}, changed: "proj/compose.yaml"},
		"file in a variable":                  {words: docker, env: map[string]string{"COMPOSE_FILE": "compose.yaml:plain"}, changed: "proj/plainfile"},
		"file behind another program":         {words: append([]string{"env", "A=b"}, docker...), changed: "proj/compose.yaml"},
		"environment file":                    {words: docker, changed: "proj/settings"},
		"environment file with escapes":       {words: docker, changed: "proj/more"},
		"file that is extended":               {words: docker, changed: "proj/base.yaml"},
		"environment file of an extended one": {words: docker, changed: "proj/baseenv"},
		"secret":                              {words: docker, changed: "proj/secret.txt"},
		"recipe of an image":                  {words: docker, changed: "proj/image/Recipe"},
		"recipe with the usual name":          {words: docker, changed: "proj/second/Dockerfile"},
		"environment file of a container":     {words: []string{"docker", "run", "--env-file", "settings", "image"}, changed: "proj/settings"},
		"directory of Compose":                {words: []string{"docker", "compose", "--project-directory", "sub", "up"}, changed: "proj/sub/compose.yaml"},
		"volume that is a file":               {words: docker, changed: "proj/mounted"},
		"long volume that is a file":          {words: docker, changed: "proj/mounted.conf"},
		"files in the file of variables":      {words: docker, changed: "proj/more.compose"},
		"file of such a file":                 {words: docker, changed: "proj/moresettings"},
		"file that --env-file leads to":       {words: []string{"docker", "compose", "--env-file", "settings", "up"}, changed: "proj/more.compose"},
		"file that a second file names":       {words: []string{"docker", "compose", "-f", "plain", "-f", "sub/second", "up"}, changed: "proj/own"},
		"file that a second file extends":     {words: []string{"docker", "compose", "-f", "plain", "-f", "sub/second", "up"}, changed: "proj/extendedenv"},
		"file of the project directory":       {words: []string{"docker", "compose", "-f", "sub/second", "--project-directory", ".", "up"}, changed: "proj/own"},
		"file that is included":               {words: docker, changed: "proj/included"},
		"file that an included one names":     {words: docker, changed: "proj/sub/settings"},
		"file behind a link":                  {words: []string{"docker", "compose", "-f", "link/../behind", "up"}, changed: "proj/sub/behind"},
		"volume of docker that is a file":     {words: []string{"docker", "run", "-v", "./mounted:/s", "image"}, changed: "proj/mounted"},
		"volume after other short flags":      {words: []string{"docker", "run", "-itv", "./mounted:/s", "image"}, changed: "proj/mounted"},
		"volume in the same word":             {words: []string{"docker", "run", "-v./mounted:/s:ro", "image"}, changed: "proj/mounted"},
		"mount of a file":                     {words: []string{"docker", "run", "--mount", "type=bind,src=./mounted,dst=/s", "image"}, changed: "proj/mounted"},
		"data that cannot be written":         {words: []string{"docker", "run", "--volume=./data.db:/s:ro", "image"}, changed: "proj/data.db"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m.in(t)
			c := m.command("proj", test.words[0], test.words[1:]...)
			for variable, value := range test.env {
				c.Env[variable] = value
			}
			m.remember(c)
			m.mustNotDiffer(c)
			m.write(test.changed, "services: {}")
			m.mustDiffer(c, "/"+test.changed)
		})
	}
}

func TestDirectoriesOfContainersAreNamedAsNotCovered(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/compose.yaml", composeFile)
	for _, file := range []string{"files/x", "other/x", "image/x", "second/x", "data.db"} {
		m.write("proj/"+file, "x")
	}
	for want, words := range map[string][]string{
		"the files in " + m.path("proj/files") + ", which a container gets":  {"docker", "run", "-v", "./files:/x", "image"},
		"the files in " + m.path("proj/other") + ", which a container gets":  {"docker", "run", "--mount", "type=bind,source=./other,target=/x", "image"},
		"the files in " + m.path("proj/second") + ", which a container gets": {"docker", "run", "-v./second:/x", "image"},
		"the files in " + m.path("proj") + ", which a container gets":        {"docker", "run", "--volume=" + m.path("proj") + ":/x:ro", "image"},
		"the files in " + m.path("proj/image") + ", of which an image is":    {"docker", "compose", "up"},
		"the images that Compose runs, and the directories":                  {"docker", "compose", "run", "server"},
		"the file or directory that ${FILE} in " + m.path("proj") + " names": {"docker", "compose", "up", "second"},
	} {
		got := m.find(m.command("proj", words[0], words[1:]...)).NotCovered
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q: got %q, want %q", words, got, want)
		}
	}
	compose := m.command("proj", "docker", "compose", "up")
	p := m.remember(compose)
	for _, dir := range []string{"files", "other"} {
		if got := fmt.Sprint(p.NotCovered); !strings.Contains(got, m.path("proj/"+dir)+", which a container gets") {
			t.Errorf("got %s, want %s", got, dir)
		}
	}
	m.write("proj/data.db", "another row")
	m.write("proj/files/x", "another file")
	m.mustNotDiffer(compose)
}

func TestFilesOfComposeThatCannotBeReadAreNamedAsNotCovered(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"/proj/compose.yaml names, which is too long to be searched":    strings.Repeat("#", 1<<20) + "\nservices: {}",
		"/proj/compose.yaml names, which cannot be read":                "services: [",
		"the file or directory that ${X}:/x in":                         "services: {server: {volumes: ['${X}:/x']}}",
		"the files that COMPOSE_FILE=${X} in":                           "services: {}",
		"what docker reads in the directory of its settings, ./plugins": "services: {}",
	} {
		m := newMachine(t)
		m.write("proj/compose.yaml", text)
		m.write("proj/.env", "COMPOSE_FILE=${X}\n")
		got := m.find(m.command("proj", "docker", "--config", "./plugins", "compose", "up")).NotCovered
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

func TestDocumentsOfComposeAreBounded(t *testing.T) {
	t.Parallel()
	for documents, want := range map[int]bool{64: false, 65: true} {
		m := newMachine(t)
		m.write("proj/compose.yaml", strings.Repeat("---\nservices: {}\n", documents))
		got := fmt.Sprint(m.find(m.command("proj", "docker", "compose", "up")).NotCovered)
		if strings.Contains(got, "which cannot be read") != want {
			t.Errorf("%d documents: got %s, want it said that they cannot be read: %v", documents, got, want)
		}
	}
}

// A container writes into a database at each start.
func TestDatabasesThatContainersGetAreLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("proj/data.db", "1")
	m.write("proj/compose.yaml", "services: {server: {volumes: [./data.db:/data.db]}}")
	for _, words := range [][]string{{"docker", "run", "-v", "./data.db:/data.db", "image"}, {"docker", "compose", "up"}} {
		c := m.command("proj", words[0], words[1:]...)
		p := m.remember(c)
		if got := p.Data; !slices.Contains(got, m.path("proj/data.db")) {
			t.Errorf("got data %q, want the database", got)
		}
		m.write("proj/data.db", "2")
		m.mustNotDiffer(c)
	}
}
